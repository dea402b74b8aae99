"""Settings: their sources, and refusals that name them."""

import re
import tomllib
from pathlib import Path

import pytest

from saleroom.settings import Settings, SettingsError, load, shown_default

DOCS = Path(__file__).parent.parent / "docs/settings.md"
SECRET = "open-sesame"


def faults(environ: dict[str, str], flags: dict[str, object] | None = None, config: str | None = None) -> list[str]:
    """Return why these settings are refused."""
    with pytest.raises(SettingsError) as refused:
        load(flags or {}, environ, config)
    return refused.value.faults


def test_defaults_are_those_of_the_design() -> None:
    """Without any setting, a house is served on this machine alone, from a file, with the embedded broker."""
    settings = load({}, {})
    shown = (settings.host, settings.port, settings.database, settings.mqtt, settings.workers)
    assert ("127.0.0.1", 9000, "sqlite:///saleroom.db", "embedded", 1) == shown


def test_a_flag_beats_the_environment_beats_the_file_beats_the_default(tmp_path: Path) -> None:
    """Each setting is taken from the first source that has it."""
    file = tmp_path / "house.toml"
    file.write_text('host = "file"\nport = 1\nworkers = 1\nlog_level = "error"\n')
    settings = load({"host": "flag", "port": None}, {"SALEROOM_HOST": "env", "SALEROOM_PORT": "2"}, str(file))
    assert ("flag", 2, "error", "console") == (
        settings.host,
        settings.port,
        settings.log_level,
        settings.log_format,
    )


def test_the_environment_may_name_the_file(tmp_path: Path) -> None:
    """SALEROOM_CONFIG names the file if no flag does."""
    file = tmp_path / "house.toml"
    file.write_text("port = 7\n")
    assert 7 == load({}, {"SALEROOM_CONFIG": str(file)}).port


def test_an_empty_variable_is_not_set() -> None:
    """A variable that a service file leaves empty does not count."""
    assert 9000 == load({}, {"SALEROOM_PORT": ""}).port


def test_lists_are_written_with_commas_or_as_arrays(tmp_path: Path) -> None:
    """A list is split at commas in the environment and is an array in TOML."""
    file = tmp_path / "house.toml"
    file.write_text('trusted_proxies = ["10.0.0.0/8", "::1"]\n')
    settings = load({}, {"SALEROOM_CORS_ORIGINS": "https://A.example:443, http://b.example:8080"}, str(file))
    assert ("https://a.example", "http://b.example:8080") == settings.cors_origins
    assert ("10.0.0.0/8", "::1") == settings.trusted_proxies


@pytest.mark.parametrize(
    "url",
    [
        "sqlite:///relative.db",
        "sqlite:////absolute/file.db",
        "postgresql://ada:p%40ss%2Fword@db.example:5433/house",
        "postgres://ada@db.example/house?sslmode=require",
        "postgresql+asyncpg://db.example/house",
        "postgresql:///house?host=/run/postgresql",
    ],
)
def test_database_urls_are_taken_as_people_write_them(url: str) -> None:
    """Each usual form of a database URL passes, and is kept as written."""
    assert url == load({}, {"SALEROOM_DATABASE": url}).database


@pytest.mark.parametrize(
    "url", ["off", "embedded", "mqtt://broker", "mqtt://ada:p%40ss@broker:1884", "mqtts://[::1]:8884"]
)
def test_mqtt_urls_are_taken_as_people_write_them(url: str) -> None:
    """Each form of the broker setting passes, and is kept as written."""
    assert url == load({}, {"SALEROOM_MQTT": url}).mqtt


@pytest.mark.parametrize(
    ("variable", "value", "remedy"),
    [
        ("PORT", "x", "a whole number"),
        ("PORT", "65536", "65535"),
        ("HOST", " ", "address"),
        ("WORKERS", "0", "1"),
        ("WORKERS", "2", "postgresql://"),
        ("DATABASE", "sqlite://", "sqlite:///saleroom.db"),
        ("DATABASE", "sqlite:///:memory:", "sqlite:///saleroom.db"),
        ("DATABASE", "sqlite:///file:a?mode=memory&uri=true", "sqlite:///saleroom.db"),
        ("DATABASE", "mysql://host/name", "postgresql://"),
        ("DATABASE", "postgresql://host:port/name", "postgresql://"),
        ("DATABASE", "saleroom.db", "sqlite:///"),
        ("MQTT", "on", "embedded"),
        ("MQTT", "http://broker", "mqtt://"),
        ("MQTT", "mqtt://", "host"),
        ("MQTT_PREFIX", "house", "/"),
        ("MQTT_PREFIX", "house/+/", "+"),
        ("MQTT_PREFIX", "#/", "#"),
        ("MQTT_PREFIX", "$SYS/", "$"),
        ("REGISTRATION", "maybe", "closed"),
        ("REGISTRATIONS_PER_HOUR", "0", "1"),
        ("BODY_BYTES_MAX", "10", "1024"),
        ("CORS_ORIGINS", "*", "https://host"),
        ("CORS_ORIGINS", "shop.example", "https://host"),
        ("CORS_ORIGINS", "https://shop.example/path", "https://host"),
        ("TRUSTED_PROXIES", "proxy.example", "IPv4"),
        ("PUBLIC_URL", "https://example.org/bids", "a path"),
        ("OUTAGE_REOPENS", "maybe", "true or false"),
        ("LOG_LEVEL", "loud", "warning"),
        ("LOG_FORMAT", "xml", "json"),
        ("DATABASE_POOL_SIZE", "0", "1"),
        ("DATABASE_POOLER", "session", "transaction"),
    ],
)
def test_a_bad_value_is_refused_by_name_with_the_remedy(variable: str, value: str, remedy: str) -> None:
    """A value that cannot be used is quoted as written, and the line says what would be right."""
    (fault,) = faults({f"SALEROOM_{variable}": value})
    assert fault.startswith(f"SALEROOM_{variable}: ")
    assert remedy in fault


def test_postgresql_is_not_copied_by_litestream() -> None:
    """The setting is refused there: nobody may believe that answers wait for a copy."""
    environ = {
        "SALEROOM_DATABASE": "postgresql://ada@nowhere/house",
        "SALEROOM_LITESTREAM_SOCKET": "/run/litestream.sock",
    }
    (fault,) = faults(environ)
    assert fault.startswith("SALEROOM_LITESTREAM_SOCKET: Litestream copies SQLite; PostgreSQL has standbys")


def test_all_faults_are_named_at_once_each_where_it_was_written(tmp_path: Path) -> None:
    """Faults in flags, environment and file come out together, one line each."""
    file = tmp_path / "house.toml"
    file.write_text('workers = true\nbody_bytes = 5\nlog_level = "loud"\n')
    found = faults({"SALEROOM_PROT": "9000", "SALEROOM_REGISTRATION": "maybe"}, {"port": "x"}, str(file))
    starts = [
        f"body_bytes in {file} is no setting; did you mean body_bytes_max?",
        "SALEROOM_PROT is no setting; did you mean SALEROOM_PORT?",
        "--port: ",
        f"workers in {file}: write a whole number",
        "SALEROOM_REGISTRATION: ",
        f"log_level in {file}: ",
    ]
    assert len(starts) == len(found)
    assert all(fault.startswith(start) for start, fault in zip(starts, found, strict=True))
    assert all("\n" not in fault for fault in found)


def test_variables_of_the_tests_and_of_our_own_processes_are_no_settings() -> None:
    """SALEROOM_TEST_*, SALEROOM_INTERNAL_* and SALEROOM_CONFIG stop nothing; a misspelt case does."""
    load({}, {"SALEROOM_TEST_REQUIRE": "a", "SALEROOM_INTERNAL_SETTINGS": "b", "SALEROOMS": "c"})
    assert ["Saleroom_Port is no setting; did you mean SALEROOM_PORT?"] == faults({"Saleroom_Port": "1"})


def test_a_file_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    """A missing file and one that is not TOML are refused by their names."""
    assert [f"cannot read {tmp_path}/none.toml: No such file or directory"] == faults(
        {}, config=f"{tmp_path}/none.toml"
    )
    file = tmp_path / "house.toml"
    file.write_bytes(b"port = \xff")
    assert [f"{file} is not TOML: it is not UTF-8 at byte 7"] == faults({}, config=str(file))


@pytest.mark.parametrize(
    "value", ["x", "-1", "9" * 30, "1.5", "", [1], {}, "\udcff", True, "nan", "a" * 5000], ids=repr
)
def test_every_wrong_value_is_refused_in_our_own_words(value: object) -> None:
    """Whatever the type of a setting, the line about a wrong value has no words of the library that reads it."""
    lines = []
    for name in Settings.model_fields:
        try:
            load({name: value}, {})
        except SettingsError as error:
            lines += error.faults
    assert [] == [line for line in lines if "nput" in line or "alid" in line]


def test_settings_that_do_not_fit_together_are_named() -> None:
    """A fault of several settings together names them."""
    said = "reminder_days and strike_days: each must be from 1 to 365 days"
    assert [said] == faults({"SALEROOM_REMINDER_DAYS": "0"})


@pytest.mark.parametrize(
    "environ",
    [
        {"SALEROOM_DATABASE": f"mysql://ada:{SECRET}@host/name"},
        {"SALEROOM_DATABASE": f"postgresql://ada:{SECRET}@host:port/name"},
        {"SALEROOM_MQTT": f"http://ada:{SECRET}@host"},
        {"SALEROOM_MQTT": f"mqtt://ada:{SECRET}@host:port"},
        {"SALEROOM_MQTT": "mqtt://host", "SALEROOM_MQTT_PASSWORD": SECRET},
        {"SALEROOM_MQTT_PASSWORD": SECRET, "SALEROOM_PORT": "x"},
    ],
)
def test_no_fault_repeats_a_secret(environ: dict[str, str]) -> None:
    """A password is in no message, whatever is wrong."""
    assert SECRET not in str(faults(environ))


def test_no_repr_shows_a_secret() -> None:
    """A password is in no repr, whether it is in a URL or a separate setting."""
    settings = Settings.model_validate(
        {
            "database": f"postgresql://ada:{SECRET}@host/name",
            "mqtt": f"mqtt://ada:{SECRET}@host",
            "mqtt_user": "ada",
            "mqtt_password": SECRET,
        }
    )
    assert SECRET not in repr(settings) + str(settings)


def test_the_docs_list_every_setting_with_its_default_and_help() -> None:
    """The table in docs/settings.md is the table of settings."""
    before_values = DOCS.read_text().partition("\n## ")[0]
    table = [line for line in before_values.splitlines() if line.startswith("| `")]
    expected = [
        f"| `{name}` | `{shown_default(name)}` | {field.description} |" for name, field in Settings.model_fields.items()
    ]
    assert sorted(expected) == sorted(table)


def test_the_docs_example_file_is_accepted(tmp_path: Path) -> None:
    """The TOML example in docs/settings.md can be used as it stands, except for its user's password."""
    (example,) = re.findall(r"```toml\n(.*?)```", DOCS.read_text(), re.DOTALL)
    file = tmp_path / "house.toml"
    file.write_text(example)
    settings = load({}, {"SALEROOM_MQTT_PASSWORD": SECRET}, str(file))
    assert tomllib.loads(example)["workers"] == settings.workers


@pytest.mark.parametrize("name", ["mqtt_host", "mqtt_port", "mqtt_websocket_port"])
def test_the_embedded_brokers_settings_are_refused_beside_another_broker(name: str) -> None:
    """With an external broker the port stands in its URL, and a setting without effect is named."""
    variable, value = f"SALEROOM_{name.upper()}", "127.0.0.2" if name == "mqtt_host" else "1884"
    [fault] = faults({variable: value, "SALEROOM_MQTT": "mqtt://broker.example"})
    assert fault.startswith(f"{variable} is for the embedded broker: ")
    for mqtt in ("embedded", "off"):
        assert value == str(getattr(load({}, {variable: value, "SALEROOM_MQTT": mqtt}), name))


@pytest.mark.parametrize(
    ("environ", "fault"),
    [
        ({"MQTT_PORT": "9000"}, "port and SALEROOM_MQTT_PORT: both listeners would have port 9000"),
        ({"PORT": "9001", "MQTT_WEBSOCKET_PORT": "9001"}, "SALEROOM_PORT and SALEROOM_MQTT_WEBSOCKET_PORT: "),
        ({"MQTT_PORT": "1884", "MQTT_WEBSOCKET_PORT": "1884"}, "SALEROOM_MQTT_PORT and SALEROOM_MQTT_WEBSOCKET_PORT: "),
        ({"HOST": "0.0.0.0", "MQTT_PORT": "9000"}, "port and SALEROOM_MQTT_PORT: "),  # noqa: S104  # overlaps
        ({"MQTT_HOST": "::", "MQTT_PORT": "9000"}, "port and SALEROOM_MQTT_PORT: "),
        ({"HOST": "localhost", "MQTT_PORT": "9000"}, "port and SALEROOM_MQTT_PORT: "),
    ],
)
def test_one_port_for_two_listeners_is_refused(environ: dict[str, str], fault: str) -> None:
    """The line names both settings; the system would let both listen, and one would never be asked."""
    (found,) = faults({f"SALEROOM_{name}": value for name, value in environ.items()})
    assert found.startswith(fault)
    assert "choose another" in found


@pytest.mark.parametrize(
    "environ",
    [
        {"MQTT_HOST": "192.0.2.1", "MQTT_PORT": "9000"},
        {"PORT": "1883"},
        {"PORT": "0", "MQTT_PORT": "0", "MQTT_WEBSOCKET_PORT": "0"},
        {"PORT": "1883", "MQTT": "mqtt://localhost:1883"},
    ],
)
def test_listeners_that_do_not_meet_are_taken(environ: dict[str, str]) -> None:
    """One port at two addresses is fine, and so are free ports, and a port that the broker only takes if nobody has it."""
    load({}, {f"SALEROOM_{name}": value for name, value in environ.items()})


@pytest.mark.parametrize(
    ("environ", "fault"),
    [
        ({"SMTP_URL": "smtp://mail.example"}, "SALEROOM_SMTP_URL: it needs mail_sender too"),
        ({"SMTP_URL": "http://mail.example", "MAIL_SENDER": "a@b.example"}, "must start with smtp+starttls://"),
        ({"SMTP_URL": "smtp://u:p@mail.example", "MAIL_SENDER": "a@b.example"}, "a password needs TLS"),
        ({"SMTP_URL": "smtps://u@mail.example", "MAIL_SENDER": "a@b.example"}, "needs both user and password"),
        ({"SMTP_URL": "smtps://mail.example:0", "MAIL_SENDER": "a@b.example"}, "has port 0"),
        ({"SMTP_URL": "smtps://u:p@mail.example:x", "MAIL_SENDER": "a@b.example"}, "no valid host and port"),
        ({"SMTP_URL": "smtps://", "MAIL_SENDER": "a@b.example"}, "names no host"),
        ({"SMTP_URL": "smtps://a.example/x", "MAIL_SENDER": "a@b.example"}, "goes on after host and port"),
        ({"SMTP_URL": "smtps://u:%ff@a.example", "MAIL_SENDER": "a@b.example"}, "percent-encoded UTF-8"),
        (
            {"SMTP_URL": "smtps://a.example", "MAIL_SENDER": "a@b.example", "SMTP_CA_FILE": "/no.pem"},
            "authority file '/no.pem' of the mail server cannot be used: No such file",
        ),
        ({"MAIL_SENDER": "The house <a@b.example>"}, "write one mail address alone"),
        ({"MAIL_SIGNATURE": "a\0b"}, "write a text without control characters"),
    ],
)
def test_a_mail_server_that_cannot_be_used_is_named(environ: dict[str, str], fault: str) -> None:
    """Each fault of the settings of mail is named with its correction, and never with the password."""
    [found] = faults({f"SALEROOM_{name}": value for name, value in environ.items()})
    assert fault in found
    assert "p@" not in found


_CARDS = {
    "STRIPE_KEY": "sk_test_0123456789",
    "STRIPE_WEBHOOK_SECRET": "whsec_0123456789",
    "PUBLIC_URL": "http://house.test",
}


@pytest.mark.parametrize(
    ("environ", "fault"),
    [
        ({"STRIPE_KEY": SECRET}, "SALEROOM_STRIPE_KEY: write the secret key"),
        ({"STRIPE_KEY": "pk_live_0123456789"}, "SALEROOM_STRIPE_KEY: write the secret key"),
        ({"STRIPE_KEY": "sk_live_0123456789"}, "a live key needs a public_url with https"),
        ({"PUBLIC_URL": ""}, "SALEROOM_STRIPE_KEY: it needs public_url too"),
        ({"STRIPE_KEY": ""}, "SALEROOM_STRIPE_WEBHOOK_SECRET: it needs stripe_key too"),
        ({"STRIPE_WEBHOOK_SECRET": ""}, "stripe_webhook_secret: stripe_key needs it too"),
        ({"STRIPE_WEBHOOK_SECRET": SECRET}, "write the signing secret of the endpoint"),
        ({"CURRENCY": "UGX"}, "no cards online in this currency"),
        ({"STRIPE_URL": "http://stripe.example"}, "http is for this machine alone"),
        ({"STRIPE_CHECKOUT_URL": "https://pay.example/path"}, "write https://host"),
    ],
)
def test_cards_online_that_cannot_work_are_refused(environ: dict[str, str], fault: str) -> None:
    """Each fault of the settings of cards online is named with its correction, and never with the secret."""
    [found] = faults({f"SALEROOM_{name}": value for name, value in {**_CARDS, **environ}.items()})
    assert fault in found
    assert SECRET not in found and "0123456789" not in found


def test_cards_online_are_taken_with_a_test_key_and_a_live_one() -> None:
    """A test key works with http; a live one, or a restricted one, with https. No repr shows them."""
    for more in ({}, {"STRIPE_KEY": "rk_live_0123456789", "PUBLIC_URL": "https://house.test"}):
        found = load({}, {f"SALEROOM_{name}": value for name, value in {**_CARDS, **more}.items()})
        assert found.stripe_key is not None and "0123456789" not in repr(found)


def test_a_folder_of_secrets_holds_a_setting_in_each_file(tmp_path: Path) -> None:
    """A file is named like its setting, with or without the prefix; hidden files and folders are left alone."""
    (tmp_path / "mqtt_password").write_text(f"{SECRET}\n")
    (tmp_path / "saleroom_database").write_text("postgresql://ada@host/name\r\n")
    (tmp_path / "metrics_token").write_text("")
    (tmp_path / "kubernetes.io").mkdir()
    (tmp_path / "..data").write_text("x")
    settings = load({}, {"SALEROOM_SECRETS": str(tmp_path)})
    assert settings.mqtt_password is not None
    assert (SECRET, "postgresql://ada@host/name", None) == (
        settings.mqtt_password.get_secret_value(),
        settings.database,
        settings.metrics_token,
    )


def test_the_environment_beats_a_secret_beats_the_file(tmp_path: Path) -> None:
    """A folder of secrets stands between the environment and the TOML file."""
    (tmp_path / "secrets").mkdir()
    (tmp_path / "secrets" / "port").write_text("2")
    (tmp_path / "secrets" / "workers").write_text("1")
    (tmp_path / "house.toml").write_text('port = 3\nworkers = 3\nhost = "::1"\n')
    environ = {"SALEROOM_SECRETS": str(tmp_path / "secrets"), "SALEROOM_PORT": "1"}
    settings = load({}, environ, str(tmp_path / "house.toml"))
    assert (1, 1, "::1") == (settings.port, settings.workers, settings.host)


def test_a_secret_that_cannot_be_used_is_named_by_its_file(tmp_path: Path) -> None:
    """Each fault names the file, all come at once, and none shows what is in it."""
    names = ("smtp_ulr", "port", "saleroom_workers", "workers", "stripe_key", "house_name", "house_folder")
    for name in names:
        (tmp_path / name).write_text(SECRET)
    (tmp_path / "stripe_key").write_bytes(b"\xff" + SECRET.encode())
    (tmp_path / "house_name").write_text(SECRET * 10_000)
    (tmp_path / "house_folder").unlink()
    (tmp_path / "house_folder").symlink_to(tmp_path / "nowhere")
    found = faults({"SALEROOM_SECRETS": str(tmp_path)})
    ends = {
        f"{tmp_path}/smtp_ulr is no setting; did you mean smtp_url?",
        f"{tmp_path}/workers and {tmp_path}/saleroom_workers are the same setting; remove one of them",
        f"{tmp_path}/stripe_key is not UTF-8; write the secret as text",
        f"{tmp_path}/house_name is larger than 65536 bytes; write the secret alone into it",
        f"cannot read {tmp_path}/house_folder: No such file or directory",
    }
    assert ends == ends & {*found}
    assert [True, True] == [
        fault.startswith((f"{tmp_path}/port: ", f"{tmp_path}/saleroom_workers: "))
        for fault in found
        if fault not in ends
    ]
    assert SECRET not in str(found)
    assert faults({"SALEROOM_SECRETS": "/nowhere"})[0].startswith(
        "cannot read the folder /nowhere that SALEROOM_SECRETS names"
    )
