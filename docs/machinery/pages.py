"""What MkDocs calls while it builds the site.

Pages that are made from files outside docs/, links that lead there, lists as GitHub reads them;
and, of every page that was made, whether it is whole. Warnings are errors: see mkdocs.yml.
"""

import logging
import re
from pathlib import Path

from links import PAGES, as_page, in_repository, links, page_of, relinked, site_link
from lists import as_on_github
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files, InclusionLevel
from mkdocs.structure.pages import Page

log = logging.getLogger("mkdocs.hooks.surehold")

_RAW_ROLE = re.compile(r":(?:attr|class|data|exc|func|meth|mod):<code>")
_ELSEWHERE = r"[\"']?((?:https?:)?//[^\"'\s>]+)"
_FETCHED = re.compile(
    rf"<(?:script|img|iframe|source)\b[^>]*\bsrc={_ELSEWHERE}"
    rf"|<link\b(?=[^>]*\brel=[\"']?(?:stylesheet|pre|icon|modulepre))[^>]*\bhref={_ELSEWHERE}"
)
_EXAMPLES = re.compile(r"^( *```)python\n(?= *>>> )", re.MULTILINE)
# A file that is shown because a page links to it is not what readers search for.
_NOT_FOUND = "---\nsearch:\n  exclude: true\n---\n"


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add a page for every file outside docs/ that has one, or that a page links to."""
    root = Path(config.config_file_path).parent
    wanted = list(PAGES)
    for file in files.documentation_pages():
        wanted += _linked(file.content_string, f"docs/{file.src_uri}")
    while wanted:
        path = wanted.pop()
        page = page_of(path, root)
        if page is None or path.startswith("docs/") or files.get_file_from_path(page):
            continue
        place = InclusionLevel.UNDEFINED if path in PAGES else InclusionLevel.NOT_IN_NAV
        if page.endswith(".md"):
            text = (root / path).read_text(encoding="utf-8")
            wanted += _linked(text, path) if path.endswith(".md") else []
            content = ("" if path in PAGES else _NOT_FOUND) + as_page(path, text)
            made = File.generated(config, page, content=content, inclusion=place)
            made.edit_uri = path  # where its links start from
        else:
            made = File.generated(config, page, abs_src_path=str(root / path), inclusion=place)
        files.append(made)
    return files


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Links out of docs/ lead to pages, lists are as on GitHub, and outputs are not coloured."""
    root, uri = Path(config.config_file_path).parent, page.file.src_uri
    origin = page.file.edit_uri if page.file.generated_by else f"docs/{uri}"
    text = relinked(markdown, lambda link: site_link(link, origin or uri, uri, root))
    return _EXAMPLES.sub(r"\1pycon\n", as_on_github(text))


def on_post_page(output: str, page: Page, config: MkDocsConfig) -> str:
    """A page that is not whole, or would fetch something from elsewhere, stops a strict build."""
    if _RAW_ROLE.search(output):
        log.warning("%s shows a mark of reStructuredText", page.file.src_uri)
    for fetched in _FETCHED.finditer(output):
        log.warning("%s fetches %s", page.file.src_uri, fetched[1] or fetched[2])
    return output


def _linked(text: str, origin: str) -> list[str]:
    found = (in_repository(link, origin) for link in links(text))
    return [path for path in found if path is not None]
