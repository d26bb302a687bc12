"""The host: the datasets of a server. One of them may be at its root; all are below /d/NAME."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NoReturn

from surehold import session
from surehold.display import Shown
from surehold.errors import InvalidInput, RequestRefused, StorageFailed, SureholdError
from surehold.locks import only_one
from surehold.server import retirement
from surehold.server.access import Books, Caller, FrontAccess, HostedAccess, not_found
from surehold.server.limits import Limits
from surehold.server.service import Service
from surehold.server.settings import Settings
from surehold.server.site import Site
from surehold.server.tokens import FILE, TokenBook, check_name, is_name
from surehold.session import Dataset
from surehold.session.dataset import is_dataset

if TYPE_CHECKING:
    from surehold.server.provider import Provider

LOCK = "serving.lock"
_MOST_DATASETS = 1000

logger = logging.getLogger("surehold.server")


@dataclass(frozen=True, repr=False)
class Listed(Shown):
    """A dataset that a caller has access to.

    ``address`` is where its routes begin. ``state`` is ready, retired or damaged, and then
    ``reason`` says why and the numbers are None.
    """

    name: str
    address: str
    role: str
    state: Literal["ready", "retired", "damaged"]
    guard: str | None = None
    n: int | None = None
    answers: int | None = None
    reason: str | None = None


class Host:
    """The sites of a server: named folders, or all datasets in a ``root`` folder.

    A dataset is opened by the first caller with access, so that one that is damaged keeps none of
    the others from working.
    """

    def __init__(
        self,
        folders: Iterable[Path] = (),
        settings: Settings | None = None,
        *,
        root: Path | None = None,
        is_exposed: bool = False,
        open_dataset: Callable[[Path], Dataset] = session.open,
    ) -> None:
        self.settings, self.root = settings or Settings(), root
        self.limits = Limits(self.settings)
        self.book = None if root is None else TokenBook(root, guard=None)
        self.main: Site | None = None
        self.sessions = self.book
        self.provider: Provider | None = None
        self._open_dataset = open_dataset
        self._folders: dict[str, Path] = {}
        for folder in folders:
            self._add(folder.absolute())
        self._sites: dict[str, tuple[Site, TokenBook]] = {}
        self._books = Books(self.book, self._each_book, is_exposed)
        self._lock, self._opened = threading.Lock(), ExitStack()
        self.front = Site(FrontAccess(self._books, self.limits.strangers), self.limits, _no_dataset)
        if self.book is not None or self._folders:
            self._start_sign_in()

    @classmethod
    def of(cls, service: Service) -> Host:
        """Return the host of one dataset, which is at its root."""
        host = cls(settings=service.settings)
        host.limits, host.sessions = service.limits, service.book
        host._start_sign_in()
        host.main = Site.of(service)
        host._sites[service.dataset.path.name] = (host.main, service.book)
        host._folders[service.dataset.path.name] = service.dataset.path
        host.front = Site(FrontAccess(host._books, host.limits.strangers), host.limits, _no_dataset)
        return host

    def _start_sign_in(self) -> None:
        """Let people sign in at the provider of the settings; then everybody needs a token."""
        settings = self.settings.oidc
        if settings is None:
            return
        if self.sessions is None:
            required = "used with one dataset, or with --root, whose folder keeps the sessions"
            raise InvalidInput("--oidc", required, "several folders")
        for rule in settings.allow:
            self.sessions.check(rule.role, rule.limit, rule.datasets)
        from surehold.server.provider import Provider  # it loads jwt, which is optional

        self.sessions.require()
        self.provider = Provider(settings)

    # ------------------------------------------------------------------------------------ sites

    @property
    def names(self) -> Sequence[str]:
        """Return the names of all datasets, sorted."""
        found = set(self._folders)
        if self.root is not None:
            found |= {path.name for path in self.root.iterdir() if _is_dataset(path)}
        return sorted(found)

    @property
    def folders(self) -> Sequence[Path]:
        """Return the folders that are served."""
        return [*self._folders.values(), *([] if self.root is None else [self.root])]

    def site(self, name: str) -> Site:
        """Return the site of a name, even if no dataset has it: only callers with access learn."""
        known = self._sites.get(name)
        if known is not None:
            return known[0]
        path = self._find(name)
        with self._lock:
            if path is not None and name not in self._sites:
                book = TokenBook(path)
                access = HostedAccess(name, book, self._books, self.limits.strangers)
                site = Site(access, self.limits, lambda: self._open(path), name)
                self._sites[name] = (site, book)
        if path is not None:
            return self._sites[name][0]
        nowhere = HostedAccess(name, None, self._books, self.limits.strangers)
        return Site(nowhere, self.limits, _no_dataset, name)

    def list(self, caller: Caller, root: str) -> list[Listed]:
        """Return the datasets that a caller has access to; ``root`` is the address of the host."""
        names = [name for name in self.names if self.site(name).access.covers(caller)]
        return [self.describe(name, caller, root) for name in names]

    def describe(self, name: str, caller: Caller, root: str) -> Listed:
        """Return what a caller with access to a dataset sees of it; it may be damaged."""
        path = self._find(name)
        assert path is not None
        address = f"{root}/d/{name}"
        found = retirement.read(path)
        state: Literal["ready", "retired"] = "ready" if found is None else "retired"
        reason = None if found is None else found.reason
        try:
            with self.dataset(name) as dataset:
                numbers = (dataset.guard, dataset.n, dataset.status().answers)
        except SureholdError as error:
            hidden = str(error).replace(str(path), name)
            return Listed(name, address, caller.role, "damaged", reason=hidden)
        return Listed(name, address, caller.role, state, *numbers, reason)

    @contextmanager
    def dataset(self, name: str) -> Iterator[Dataset]:
        """Open a dataset for a moment, unless it is open; without its records, which take long."""
        path, dataset = self._find(name), self.site(name).dataset
        assert path is not None
        with ExitStack() as stack:
            yield dataset or stack.enter_context(self._open_dataset(path))

    @property
    def services(self) -> Sequence[Service]:
        """Return the services of all datasets that are open."""
        sites = [site for site, _ in list(self._sites.values())]
        return [site.opened for site in sites if site.opened is not None]

    def create(self, name: str, **options: Any) -> None:
        """Create a dataset in the root folder."""
        check_name(name)
        if self.root is None:
            hint = "serve a folder of datasets: surehold serve --root FOLDER"
            raise RequestRefused(405, "this server has a fixed list of datasets", hint)
        if (self.root / name).exists() or name in self._folders:
            raise RequestRefused(409, f"the name {name} is taken", "choose another name")
        if len(self.names) >= _MOST_DATASETS:
            reason = f"there are {_MOST_DATASETS:,} datasets already"
            raise RequestRefused(413, reason, "remove the folders of some, or use another server")
        session.create(self.root / name, **options).close()

    @property
    def has_tokens(self) -> bool:
        """Whether every dataset has tokens, or the server has."""
        if self.book is not None and not self.book.is_open:
            return True
        books = list(self._each_book())
        return bool(books) and not any(book.is_open for book in books)

    async def end(self) -> None:
        """End all streams of events, because the server stops."""
        for site, _ in self._sites.values():
            await site.end()

    def close(self) -> None:
        """Close all datasets that were opened here."""
        self._opened.close()

    def _add(self, folder: Path) -> None:
        name = check_name(folder.name)
        if name in self._folders:
            hint = "the name of its folder is a part of its address; rename one of them"
            raise InvalidInput("the datasets", "folders with different names", name, hint)
        if not _is_dataset(folder):
            hint = "surehold create makes one"
            raise InvalidInput("the dataset", "a folder that surehold create made", folder, hint)
        self._folders[name] = folder

    def _find(self, name: str) -> Path | None:
        if name in self._folders:
            return self._folders[name]
        path = None if self.root is None else self.root / name
        return path if path is not None and _is_dataset(path) else None

    def _each_book(self) -> Iterable[TokenBook]:
        for name in self.names:
            self.site(name)
            yield self._sites[name][1]

    def _open(self, path: Path) -> Service:
        with ExitStack() as stack:
            stack.enter_context(only_one(path / LOCK, "serving this dataset"))
            try:
                dataset = stack.enter_context(self._open_dataset(path))
            except InvalidInput:
                reason = "its folder is not there any more"
                raise StorageFailed("opening the dataset", reason, "tell its custodian") from None
            service = Service(dataset, self.settings, limits=self.limits)
            service.sweep()
            service.load()
            with self._lock:
                self._opened.push(stack.pop_all())
        return service


def is_root(path: Path) -> bool:
    """Whether a folder is one of datasets: it has some, or tokens for them, or is empty."""
    if not path.is_dir() or is_dataset(path):
        return False
    inside = list(path.iterdir())
    return not inside or any(one.name == FILE or _is_dataset(one) for one in inside)


def check_root(path: Path) -> Path:
    """Return the folder of datasets to serve."""
    if is_dataset(path):
        hint = f"serve it without --root: surehold serve {path}"
        raise InvalidInput("--root", "a folder of datasets", f"{path}, a dataset", hint)
    if not path.is_dir():
        raise InvalidInput("--root", "a folder that is there", str(path))
    return path.absolute()


def _is_dataset(path: Path) -> bool:
    """Whether a folder holds a dataset, damaged or not, whose name can be a part of an address."""
    return is_name(path.name) and is_dataset(path)


def _no_dataset() -> NoReturn:
    raise not_found()
