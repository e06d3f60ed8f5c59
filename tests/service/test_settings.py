"""Settings: flags before the environment, before a file, before what is built in; an unknown key is an error."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from refusals import for_each
from serving import serving

from belated.errors import BelatedWarning, ConfigurationError
from belated.service.settings import Settings, is_loopback, settings, warn_about_variables

FLAGS: dict[str, Any] = {"db": "flag.db", "host": "127.0.0.3", "port": 3, "log": "error"}
SURROUNDINGS = {"BELATED_DB": "env.db", "BELATED_HOST": "127.0.0.2", "BELATED_PORT": "2", "BELATED_LOG": "warning"}
FILE = {"db": "file.db", "host": "127.0.0.4", "port": 1, "log": "debug"}


@pytest.fixture
def config(tmp_path: Path) -> str:
    path = tmp_path / "belated.toml"
    path.write_text("".join(f"{key} = {value!r}\n" for key, value in FILE.items()), encoding="utf-8")
    return str(path)


def test_what_is_built_in() -> None:
    assert settings({}, {}) == Settings("bandits.db", "127.0.0.1", 8000, "info")
    assert settings(dict.fromkeys(FLAGS), {}) == Settings()


def test_flags_before_the_environment_before_a_file(config: str) -> None:
    def check(key: str) -> None:
        name = f"BELATED_{key.upper()}"
        environment = {name: SURROUNDINGS[name]}
        typed = int(environment[name]) if key == "port" else environment[name]
        assert getattr(settings({"config": config}, {}), key) == FILE[key]
        assert getattr(settings({}, {"BELATED_CONFIG": config}), key) == FILE[key]
        assert getattr(settings({"config": config}, environment), key) == typed
        assert getattr(settings({"config": config, key: FLAGS[key]}, environment), key) == FLAGS[key]
        assert getattr(settings({key: FLAGS[key]}, {}), key) == FLAGS[key]

    for_each(list(FLAGS), check)


def test_the_flag_names_the_file_before_the_environment_does(config: str) -> None:
    assert settings({"config": config}, {"BELATED_CONFIG": "nothing.toml"}).port == FILE["port"]


def test_wrong_files_are_errors(tmp_path: Path) -> None:
    def check(text: str, said: str) -> None:
        path = tmp_path / "wrong.toml"
        path.write_text(text, encoding="utf-8")
        with pytest.raises(ConfigurationError) as caught:
            settings({"config": path}, {})
        assert said in str(caught.value)

    for_each(
        [
            ("prot = 1", "prot is not a setting; give one of db, host, log, port"),
            ("[server]\nport = 1", "server is not a setting"),
            ("port = '1'", "port is '1'; give a number"),
            ("port = true", "port is True; give a number"),
            ("db = 1", "db is 1; give a string"),
            ("port = 65536", "port is 65536; give a number from 0 to 65535"),
            ("port = -1", "port is -1"),
            ("log = 'loud'", "log is 'loud'; give one of debug, info, warning, error"),
            ("db = ''", "db is empty"),
            ("port =", "cannot be read"),
        ],
        check,
    )


def test_a_wrong_environment_is_an_error() -> None:
    def check(environment: dict[str, str], said: str) -> None:
        with pytest.raises(ConfigurationError) as caught:
            settings({}, environment)
        assert said in str(caught.value)

    for_each(
        [
            ({"BELATED_PORT": "80 "}, "BELATED_PORT is '80 '; give a number"),
            ({"BELATED_PORT": "-1"}, "BELATED_PORT is '-1'"),
            ({"BELATED_PORT": "99999"}, "BELATED_PORT is '99999'"),
            ({"BELATED_LOG": "LOUD"}, "log is 'LOUD'"),
            ({"BELATED_DB": ""}, "db is empty"),
            ({"BELATED_CONFIG": "/nowhere.toml"}, "/nowhere.toml cannot be read"),
            ({"BELATED_PORT": "tcp:10.0.0.1"}, "BELATED_PORT is 'tcp:10.0.0.1'"),
        ],
        check,
    )


def test_other_parts_have_variables_of_their_own() -> None:
    assert settings({}, {"BELATED_CACHE_DIR": "/somewhere", "BELATED_DEBUG": "1"}) == Settings()


KUBERNETES = {
    "BELATED_SERVICE_HOST": "10.0.0.1",
    "BELATED_SERVICE_PORT": "80",
    "BELATED_SERVICE_PORT_HTTP": "80",
    "BELATED_PORT": "tcp://10.0.0.1:80",
    "BELATED_PORT_80_TCP": "tcp://10.0.0.1:80",
    "BELATED_PORT_80_TCP_PROTO": "tcp",
    "BELATED_PORT_80_TCP_PORT": "80",
    "BELATED_PORT_80_TCP_ADDR": "10.0.0.1",
    "BELATED_DB_SERVICE_HOST": "10.0.0.2",
    "BELATED_DB_PORT": "tcp://10.0.0.2:5432",
}
"""What Kubernetes sets in every container where there are Services named belated and belated-db."""


def test_unknown_variables_are_one_warning() -> None:
    variables = {"BELATED_PROT": "1", "BELATED_HOME": "/opt", "BELATED_PORT": "9000"}
    with pytest.warns(BelatedWarning) as warned:
        warn_about_variables(variables)
    assert settings({}, variables) == Settings(port=9000)
    (warning,) = warned
    assert "BELATED_HOME, BELATED_PROT are ignored" in str(warning.message)
    assert "settings are BELATED_CACHE_DIR" in str(warning.message)


def test_variables_of_kubernetes_are_one_warning(config: str) -> None:
    for flags, port in (({}, 8000), ({"port": "3"}, 3), ({"config": config}, FILE["port"])):
        assert settings(flags, KUBERNETES).port == port
    with pytest.warns(BelatedWarning, match="Kubernetes sets them") as warned:
        warn_about_variables(KUBERNETES)
    assert len(warned) == 1
    assert all(name in str(warned[0].message) for name in KUBERNETES)


def test_a_server_starts_beside_a_service_of_its_name(tmp_path: Path) -> None:
    environment = {**KUBERNETES, "BELATED_UNRELATED": "1"}
    with serving(str(tmp_path / "a.db"), environment=environment) as server, server.client() as http:
        assert http.get("/livez").status_code == 200
    assert len([line for line in server.lines if "arning: " in line]) == 2


def test_loopback() -> None:
    def check(host: str) -> None:
        assert is_loopback(host)
        assert Settings(host=host).loopback

    for_each(["127.0.0.1", "127.9.9.9", "localhost", "::1", "[::1]", "LocalHost"], check)


def test_no_loopback() -> None:
    def check(host: str) -> None:
        assert not is_loopback(host)

    for_each(["0.0.0.0", "::", "", "10.1.2.3", "localhost.example", "127.0.0.1.example", "1270.0.0.1"], check)


def test_a_server_follows_its_settings(tmp_path: Path) -> None:
    path = tmp_path / "belated.toml"
    path.write_text(f"db = {str(tmp_path / 'file.db')!r}\nlog = 'debug'\n", encoding="utf-8")
    surroundings = {"BELATED_HOST": "127.0.0.2", "BELATED_DB": str(tmp_path / "env.db")}
    with serving(str(tmp_path / "flag.db"), "--config", str(path), environment=surroundings) as server:
        assert server.url.startswith("http://127.0.0.2:")
        with server.client() as http:
            assert http.get("/livez").status_code == 200
    assert any('"path": "/livez"' in line for line in server.lines)
    assert [found.name for found in sorted(tmp_path.glob("*.db"))] == ["flag.db"]
