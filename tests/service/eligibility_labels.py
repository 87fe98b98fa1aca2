"""Which intents of the shared data sets may be answered by meaning, and why: the truth for the rules.

The label follows from what an answer would contain, not from how the request is worded: a value of
the asker's own (`personal`), a value that passes with time (`volatile`), a deed (`acting`), a fresh
invention (`creative`), or text that holds for every asker (`general`). Intents whose texts fall on
both sides are left out (`MIXED`, with the reason).
"""

import gzip
import hashlib
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

HELD = ("personal", "acting", "volatile", "creative")

LABELS: dict[str, dict[str, dict[str, str]]] = {
    "clinc150": {
        "personal": {
            "a value of the asker's account": "apr balance bill_balance bill_due credit_limit credit_score "
            "expiration_date income insurance interest_rate payday rewards_balance transactions pto_request_status",
            "the asker's lists and calendar": "calendar meeting_schedule reminder shopping_list todo_list",
            "the state of the asker's things": "gas gas_type last_maintenance tire_change tire_pressure find_phone",
            "who and where the asker is": "user_name current_location what_song",
        },
        "volatile": {
            "a value of the moment": "date time traffic how_busy next_holiday",
        },
        "acting": {
            "it changes something on a device or at the assistant": "alarm change_accent "
            "change_ai_name change_language "
            "change_speed change_user_name change_volume make_call next_song play_music smart_home sync_device text "
            "update_playlist whisper_mode cancel share_location",
            "it books, buys, moves or blocks": "book_flight book_hotel cancel_reservation car_rental freeze_account "
            "restaurant_reservation schedule_maintenance transfer uber pto_request",
            "it writes into the asker's lists": "calendar_update reminder_update shopping_list_update todo_list_update",
        },
        "creative": {"another one is wanted each time": "tell_joke"},
        "general": {
            "one set phrase answers it": "are_you_a_bot goodbye greeting how_old_are_you maybe meaning_of_life no yes "
            "thank_you what_are_your_hobbies who_do_you_work_for who_made_you",
            "one instruction for all": "card_declined damaged_card direct_deposit "
            "improve_credit_score insurance_change "
            "oil_change_how order_checks redeem_rewards replacement_card_duration rollover_401k w2 report_fraud",
            "a fact": "calculator calories cook_time definition distance ingredient_substitution international_fees "
            "international_visa measurement_conversion nutrition_info plug_type recipe restaurant_reviews spelling "
            "timezone translate travel_suggestion vaccines",
        },
    },
    "banking77": {"general": {"a page of the help centre answers it": "*"}},
    "insurance_dstc11": {
        "personal": {
            "a value of the asker's account": "CheckAccountBalance CheckPaymentStatus GetPolicyNumber"
        },
        "general": {
            "a page of the help centre answers it": "AddDependent CancelAutomaticBilling CancelPlan ChangeAddress "
            "ChangePlan ChangeSecurityQuestion CreateAccount EnrollInPlan FileClaim PayBill RemoveDependent "
            "ReportAutomobileAccident ReportBillingIssue RequestProofOfInsurance ResetPassword UpdateBillingFrequency "
            "UpdatePaymentPreference",
        },
    },
    "massive": {
        "personal": {
            "the asker's own items": "alarm_query calendar_query email_query "
            "email_querycontact lists_query music_query",
        },
        "volatile": {
            "a value of the moment": "datetime_query news_query qa_stock qa_currency transport_traffic weather_query "
            "recommendation_events",
        },
        "acting": {
            "it sets or takes away an item": "alarm_remove alarm_set calendar_remove calendar_set email_addcontact "
            "email_sendemail lists_createoradd lists_remove social_post",
            "it moves a device": "audio_volume_down audio_volume_mute audio_volume_up iot_cleaning iot_coffee "
            "iot_hue_lightchange iot_hue_lightdim iot_hue_lightoff iot_hue_lighton iot_hue_lightup iot_wemo_off "
            "iot_wemo_on music_settings play_audiobook play_game play_music play_podcasts play_radio",
            "it orders": "takeaway_order transport_taxi",
        },
        "creative": {"another one is wanted each time": "general_joke"},
        "general": {
            "a fact": "cooking_query cooking_recipe datetime_convert general_greet qa_definition qa_factoid qa_maths"
        },
    },
    "snips": {
        "acting": {"it changes or plays": "AddToPlaylist BookRestaurant PlayMusic RateBook"},
        "volatile": {"a value of the moment": "GetWeather SearchScreeningEvent"},
    },
    "nlu_eval": {
        "general": {
            "an article answers it": "askubuntu/Make_Update askubuntu/None askubuntu/Setup_Printer "
            "askubuntu/Shutdown_Computer webapps/Change_Password webapps/Delete_Account webapps/Download_Video "
            "webapps/Export_Data webapps/Filter_Spam webapps/Find_Alternative webapps/None webapps/Sync_Accounts"
        },
        "volatile": {"depends on the clock": "chatbot/DepartureTime"},
    },
    "crosswoz_zh": {"general": {"a fact": "餐馆 酒店 景点 *"}},
}
"""Data set → class → reason → intents; `*` stands for all others of the set."""

MIXED: dict[str, str] = {
    "clinc150/pay_bill": "half orders to pay, half questions where to",
    "clinc150/pin_change": "half orders, half questions how to",
    "clinc150/new_card": "half applications, half questions how to",
    "clinc150/travel_notification": "half orders, half questions how to",
    "clinc150/schedule_meeting": "orders and questions about free rooms",
    "clinc150/reset_settings": "orders and questions how to",
    "clinc150/directions": "from a named place, or from where the asker is",
    "clinc150/oil_change_when": "rules for all cars, or the date of this one",
    "clinc150/mpg": "of a model, or of the asker's car",
    "clinc150/travel_alert": "standing advice, or the news",
    "clinc150/fun_fact": "a fact, or a new one each time",
    "clinc150/meal_suggestion": "a recipe, or a new idea each time",
    "clinc150/restaurant_suggestion": "in a named town, or near the asker",
    "clinc150/oos": "no intent",
    "banking77/atm_support": "in general, or near the asker",
    "banking77/reverted_card_payment?": "why it happens, or whether this one was",
    "insurance_dstc11/FindAgent": "near the asker, or anywhere",
    "insurance_dstc11/GetQuote": "a price for the asker, or in general",
    "massive/audio_volume_other": "orders and questions",
    "massive/general_quirky": "no intent",
    "massive/music_likeness": "a remark",
    "massive/music_dislikeness": "a remark",
    "massive/recommendation_locations": "near the asker, or in a named town",
    "massive/recommendation_movies": "what runs, or what is good",
    "massive/social_query": "the asker's feed, or what is talked about",
    "massive/takeaway_query": "whether a place delivers, or the asker's order",
    "massive/transport_query": "time-tables and routes",
    "massive/transport_ticket": "orders and prices",
    "snips/SearchCreativeWork": "to play it, or to know of it",
    "nlu_eval/askubuntu/Software_Recommendation": "advice, or the newest version",
    "nlu_eval/chatbot/FindConnection": "standing routes, or now",
}

GENERAL_LOGS = {
    "so_sql_titles/log.jsonl.gz": "how-to titles",
    "cosqa/queries.jsonl": "code questions",
    "gitbugs/pairs.jsonl": "titles of bugs",
    "xquad_enzh/pairs.jsonl.gz": "questions on an encyclopedia",
    "qald10_enzh/pairs.jsonl": "questions on an encyclopedia",
    "code_humaneval/pairs.jsonl.gz": "functions to complete",
    "prompts_chat/en_log.jsonl": "templates",
}
"""Files without intents whose texts hold for every asker."""

FILES = {
    "clinc150": ("clinc150/intents.jsonl.gz",),
    "banking77": ("banking77/intents.jsonl.gz",),
    "insurance_dstc11": ("insurance_dstc11/intents.jsonl",),
    "massive": ("massive/en_intents.jsonl.gz", "massive/zh_intents.jsonl.gz"),
    "snips": ("snips/intents.jsonl.gz",),
    "nlu_eval": ("nlu_eval/intents.jsonl",),
    "crosswoz_zh": ("crosswoz_zh/turns.jsonl",),
}

INSTRUCTION = re.compile(
    r"\b(how (do|can|would|should|could|to|does)|where (can|do|would|should|could) "
    "(i|we|one|you)|(best|right) way|steps?"
    r"|instructions)\b|怎么(?!样|说|还|会)|如何(?!$|[?？])|怎样才",
    re.I,
)
"""Marks the texts of a held intent that ask for the way to do it: they hold for all and are scored apart."""


@dataclass(frozen=True, slots=True)
class Labelled:
    """A text, what it is, and which half it belongs to (`tune`, `held` or `unseen`)."""

    text: str
    language: str
    label: str
    source: str
    half: str


def half_of(text: str, group: str) -> str:
    """`unseen` for a fifth of the intents as a whole, `held` for half the texts of the others, else `tune`."""
    if int(hashlib.sha256(group.encode()).hexdigest(), 16) % 5 == 0:
        return "unseen"
    return "held" if int(hashlib.sha256(text.encode()).hexdigest(), 16) % 2 else "tune"


def intent_labels() -> dict[tuple[str, str], str]:
    """Class by data set and intent; `*` for the others of a set."""
    return {
        (source, intent.replace("_", " ") if source == "nlu_eval" else intent): label
        for source, classes in LABELS.items()
        for label, reasons in classes.items()
        for intents in reasons.values()
        for intent in intents.split()
    }


def rows(path: Path) -> Iterator[dict[str, object]]:
    """The rows of a JSON-lines file, gzipped or not."""
    read = gzip.open if path.suffix == ".gz" else open
    with read(path, "rt") as lines:
        for line in lines:
            yield json.loads(line)


def labelled(data: Path) -> Iterator[Labelled]:
    """Every text with a label. Instructions asked for under a held intent come as `instruction`."""
    labels = intent_labels()
    for source, files in FILES.items():
        for file in files:
            for row in rows(data / file):
                intent, text = str(row["intent"]), str(row["text"])
                if f"{source}/{intent.replace(' ', '_')}" in MIXED:
                    continue
                label = labels.get((source, intent)) or labels.get((source, "*"))
                if label is None:
                    raise ValueError(f"{source}: no label for the intent {intent!r}")
                if label in HELD and INSTRUCTION.search(text):
                    label = "instruction"
                half = half_of(text, f"{source}/{intent}")
                yield Labelled(text, str(row["lang"]), label, f"{source}/{intent}", half)
    for file in GENERAL_LOGS:
        yield from _logged(data / file, file.split("/")[0])


def _logged(path: Path, source: str) -> Iterator[Labelled]:
    for n, row in enumerate(rows(path)):
        if n >= 4000:
            return
        languages = str(row.get("lang", "en")).split("-")
        for side, language in zip(
            ("text", "a", "b"), (languages[0], languages[0], languages[-1]), strict=True
        ):
            if side in row:
                text = str(row[side])
                is_chinese = language == "zh" or re.search("[\u4e00-\u9fff]", text)
                yield Labelled(
                    text, "zh" if is_chinese else "en", "general", source, half_of(text, "")
                )
