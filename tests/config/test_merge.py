from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from tests.config.scene import FILES, in_memory

from ostinato.config.load import effective
from ostinato.config.merge import leaves
from ostinato.config.settings import Settings


def settings_of(**files: object) -> Settings:
    return effective(in_memory(dict(files)), is_trusted=True).settings


def test_single_values_of_the_winning_file_override():
    settings = settings_of(project={"maxTurns": 3}, user={"maxTurns": 9, "effortLevel": "low"})
    assert settings.max_turns is not None
    assert settings.effort_level is not None
    assert (settings.max_turns.value, settings.effort_level.value) == (3, "low")


def test_rules_add_up_in_order_of_precedence_without_doubles():
    settings = settings_of(
        local={"permissions": {"allow": ["C", "A"]}},
        project={"permissions": {"allow": ["A", "B", "B"]}},
        user={"permissions": {"allow": ["B", "D"]}},
    )
    assert [rule.value for rule in settings.permissions.allow] == ["C", "A", "B", "D"]
    assert [rule.origin.key for rule in settings.permissions.allow] == [
        "permissions.allow[0]",
        "permissions.allow[1]",
        "permissions.allow[1]",
        "permissions.allow[1]",
    ]
    assert settings.permissions.allow[3].origin.source.name == FILES["user"]


def test_hooks_add_up_for_each_event_without_doubles():
    first, second = ({"matcher": name, "hooks": [{"type": "command", "command": name}]} for name in "ab")
    settings = settings_of(project={"hooks": {"Stop": [first]}}, user={"hooks": {"Stop": [second, first]}})
    assert [group.value for group in settings.hooks["Stop"]] == [first, second]


def test_hooks_that_differ_only_in_the_order_of_their_keys_are_one():
    loaded = in_memory({
        "project": '{"hooks": {"Stop": [{"matcher": "a", "hooks": []}]}}',
        "user": '{"hooks": {"Stop": [{"hooks": [], "matcher": "a"}]}}',
    })
    assert len(effective(loaded, is_trusted=True).settings.hooks["Stop"]) == 1


def test_objects_merge_key_by_key_at_any_depth():
    settings = effective(
        in_memory({
            "project": {"sandbox": {"network": {"allowedDomains": ["a"]}, "enabled": True}},
            "user": {"sandbox": {"network": {"allowedDomains": ["b"], "x": 1}, "enabled": False}},
        }),
        is_trusted=True,
    )
    assert [(key, leaf.value) for key, leaf in leaves(settings.merged)] == [
        ("sandbox.network.allowedDomains[0]", "a"),
        ("sandbox.network.allowedDomains[1]", "b"),
        ("sandbox.network.x", 1),
        ("sandbox.enabled", True),
    ]


def test_variables_merge_by_name_and_know_their_file():
    settings = settings_of(local={"env": {"A": "1"}}, user={"env": {"A": "2", "B": 3, "C": True}})
    assert {name: variable.value for name, variable in settings.env.items()} == {
        "A": "1",
        "B": "3",
        "C": "true",
    }
    assert settings.env["A"].origin.source.name == FILES["local"]


def test_the_models_to_fall_back_to_are_one_choice_not_a_sum():
    settings = settings_of(project={"fallbackModel": "a"}, user={"fallbackModel": ["b", "c"]})
    assert settings.fallback_model is not None
    assert settings.fallback_model.value == ("a",)


def test_values_of_unlike_kinds_do_not_mix():
    settings = settings_of(project={"theirs": [1, True]}, user={"theirs": {"a": 1}})
    assert [(key, leaf.value) for key, leaf in leaves(settings.others["theirs"])] == [
        ("[0]", 1),
        ("[1]", True),
    ]


def test_unknown_keys_are_kept_and_listed_and_known_ones_without_a_field_are_only_kept():
    settings = settings_of(user={"theirs": 1, "outputStyle": "plain"})
    assert settings.unknown == ("theirs",)
    assert set(settings.others) == {"theirs", "outputStyle"}


def test_no_file_gives_the_empty_settings():
    assert settings_of() == Settings()


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda below: st.lists(below, max_size=3) | st.dictionaries(st.text(max_size=5), below, max_size=3),
    max_leaves=8,
)
NAMES = st.sampled_from([
    "permissions",
    "model",
    "env",
    "hooks",
    "disableSkillShellExecution",
    "apiKeyHelper",
    "maxTurns",
    "fallbackModel",
    "sandbox",
    "theirs",
])
PERMISSIONS = st.dictionaries(
    st.sampled_from([
        "allow",
        "deny",
        "ask",
        "defaultMode",
        "additionalDirectories",
        "disableBypassPermissionsMode",
    ]),
    st.lists(st.sampled_from(["Bash", "Read"]))
    | st.sampled_from(["acceptEdits", "bypassPermissions", "disable"]),
)
DOCUMENTS = st.dictionaries(
    NAMES, JSON | PERMISSIONS | st.dictionaries(st.text("AB", min_size=1), st.text(max_size=3))
)


def without_restrictions(settings: Settings) -> tuple[object, ...]:
    permissions = settings.permissions
    others = {name: getattr(settings, name) for name in settings.__struct_fields__ if name != "permissions"}
    return others, permissions.allow, permissions.default_mode, permissions.additional_directories


@given(user=DOCUMENTS, local=DOCUMENTS, project=DOCUMENTS)
def test_a_file_added_to_an_untrusted_project_never_changes_what_acts(
    user: dict[str, Any], local: dict[str, Any], project: dict[str, Any]
):
    alone = effective(in_memory({"user": user}), is_trusted=False).settings
    both = effective(
        in_memory({"user": user, "local": local, "other project": project}), is_trusted=False
    ).settings
    assert without_restrictions(both) == without_restrictions(alone)
    assert {rule.value for rule in both.permissions.deny} >= {rule.value for rule in alone.permissions.deny}
    assert {rule.value for rule in both.permissions.ask} >= {rule.value for rule in alone.permissions.ask}


@given(files=st.dictionaries(st.sampled_from(sorted(FILES)), DOCUMENTS, max_size=4))
def test_every_value_comes_from_a_file_that_was_read(files: dict[str, Any]):
    loaded = in_memory(files)
    sources = {document.source for document in loaded.documents}
    merged = effective(loaded, is_trusted=True).merged
    assert {leaf.origin.source for _, leaf in leaves(merged)} <= sources
