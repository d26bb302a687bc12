"""An OpenID provider of authlib's parts: real codes, PKCE, keys and ID tokens, and ways to lie."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any

import flask
from authlib.integrations.flask_oauth2 import AuthorizationServer
from authlib.oauth2.rfc6749 import AuthorizationCodeMixin, ClientMixin, OAuth2Error
from authlib.oauth2.rfc6749.grants import AuthorizationCodeGrant
from authlib.oauth2.rfc7636 import CodeChallenge
from authlib.oidc.core import OpenIDCode
from joserfc import jwt
from joserfc.jwk import RSAKey
from werkzeug.serving import make_server

CLIENT, SECRET = "surehold", "correct horse & battery/staple"
ANN = {"sub": "u-1", "email": "ann@example.org", "email_verified": True, "groups": ["science"]}


def new_key(number: str = "k1") -> RSAKey:
    return RSAKey.generate_key(2048, {"kid": number, "use": "sig", "alg": "RS256"})


class Provider:
    """What the provider knows. ``person`` is signed in there already, so that it asks nothing.

    ``forge`` may return another ID token than the one with these claims. A ``thin`` provider has
    all but the subject in userinfo.
    """

    def __init__(self) -> None:
        self.url = ""
        self.person: dict[str, Any] | None = dict(ANN)
        self.key = new_key()
        self.forge: Callable[[dict[str, Any]], str] | None = None
        self.thin = False
        self.ways = ["client_secret_basic", "client_secret_post", "none"]
        self.codes: dict[str, Any] = {}
        self.given: dict[str, dict[str, Any]] = {}
        self.asked: list[str] = []

    def sign(self, claims: dict[str, Any], key: RSAKey | None = None, **header: Any) -> str:
        used = key or self.key
        return jwt.encode({"alg": "RS256", "kid": used.kid, **header}, claims, used)


class Client(ClientMixin):
    def __init__(self, provider: Provider) -> None:
        self.provider = provider

    def get_client_id(self) -> str:
        return CLIENT

    def get_allowed_scope(self, scope: str) -> str:
        return scope

    def check_redirect_uri(self, redirect_uri: str) -> bool:
        return redirect_uri.startswith("http://127.0.0.1:") and redirect_uri.endswith("/callback")

    def check_client_secret(self, client_secret: str) -> bool:
        return client_secret == SECRET

    def check_endpoint_auth_method(self, method: str, endpoint: str) -> bool:
        return method in self.provider.ways

    def check_response_type(self, response_type: str) -> bool:
        return response_type == "code"

    def check_grant_type(self, grant_type: str) -> bool:
        return grant_type == "authorization_code"


class Code(SimpleNamespace, AuthorizationCodeMixin):
    def get_redirect_uri(self) -> str:
        return self.redirect_uri

    def get_scope(self) -> str:
        return self.scope

    def get_nonce(self) -> str:
        return self.nonce

    def get_auth_time(self) -> None:
        return None

    def get_acr(self) -> None:
        return None

    def get_amr(self) -> None:
        return None


def _grant(provider: Provider) -> type[AuthorizationCodeGrant]:
    class Grant(AuthorizationCodeGrant):
        TOKEN_ENDPOINT_AUTH_METHODS = ("client_secret_basic", "client_secret_post", "none")

        def save_authorization_code(self, code: str, request: Any) -> None:
            data = request.payload.data
            provider.codes[code] = Code(
                redirect_uri=request.payload.redirect_uri,
                scope=request.payload.scope,
                nonce=data.get("nonce"),
                code_challenge=data.get("code_challenge"),
                code_challenge_method=data.get("code_challenge_method"),
                person=request.user,
            )

        def query_authorization_code(self, code: str, client: Any) -> Any:
            return provider.codes.get(code)

        def delete_authorization_code(self, authorization_code: Any) -> None:
            provider.codes = {k: v for k, v in provider.codes.items() if v != authorization_code}

        def authenticate_user(self, authorization_code: Any) -> Any:
            return authorization_code.person

    return Grant


def _openid(provider: Provider) -> OpenIDCode:
    class OpenId(OpenIDCode):
        def exists_nonce(self, nonce: str, request: Any) -> bool:
            return False

        def get_client_claims(self, client: Any) -> dict[str, Any]:
            return {"iss": provider.url}

        def resolve_client_private_key(self, client: Any) -> Any:
            return provider.key

        def get_encode_header(self, client: Any) -> dict[str, Any]:
            return {"alg": "RS256", "kid": provider.key.kid}

        def generate_user_info(self, user: Any, scope: str) -> dict[str, Any]:
            return {"sub": user["sub"]} if provider.thin else dict(user)

        def encode_id_token(self, token: Any, request: Any) -> str:
            text: str = super().encode_id_token(token, request)
            if provider.forge is None:
                return text
            return provider.forge(jwt.decode(text, provider.key).claims)

    return OpenId(require_nonce=True)


def _application(provider: Provider) -> flask.Flask:
    app = flask.Flask(__name__)
    server = AuthorizationServer()

    def save_token(token: dict[str, Any], request: Any) -> None:
        provider.given[token["access_token"]] = request.user

    server.init_app(app, query_client=lambda _: Client(provider), save_token=save_token)
    server.register_grant(_grant(provider), [_openid(provider), CodeChallenge(required=True)])

    @app.before_request
    def note() -> None:
        provider.asked.append(flask.request.path)

    @app.get("/.well-known/openid-configuration")
    def discovery() -> Any:
        places = {"authorization": "authorize", "token": "token", "userinfo": "userinfo"}
        found = {f"{name}_endpoint": f"{provider.url}/{place}" for name, place in places.items()}
        ways = {"token_endpoint_auth_methods_supported": provider.ways}
        return {"issuer": provider.url, "jwks_uri": f"{provider.url}/jwks", **found, **ways}

    @app.get("/jwks")
    def jwks() -> Any:
        return {"keys": [provider.key.as_dict(private=False)]}

    @app.get("/authorize")
    def authorize() -> Any:
        try:
            grant = server.get_consent_grant(end_user=provider.person)
        except OAuth2Error as error:
            return server.handle_error_response(None, error)
        return server.create_authorization_response(grant=grant, grant_user=provider.person)

    @app.post("/token")
    def token() -> Any:
        return server.create_token_response()

    @app.get("/userinfo")
    def userinfo() -> Any:
        return provider.given[flask.request.headers["Authorization"].removeprefix("Bearer ")]

    return app


@contextmanager
def provided() -> Iterator[Provider]:
    """Run a provider on a free port of this machine."""
    provider = Provider()
    server = make_server("127.0.0.1", 0, _application(provider), threaded=True)
    provider.url = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    try:
        yield provider
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
