"""Questions: list those on an auction, ask its seller, answer or decline one on the user's own."""

from __future__ import annotations

from msgspec import Struct
from starlette.responses import Response

from saleroom.bidding.api.fields import AUCTION
from saleroom.bidding.domain.errors import (
    AuctionOver,
    NotAuthor,
    OwnAuction,
    QuestionSettled,
    QuestionsFull,
    TakenDown,
    TooManyQuestions,
    UnknownAuction,
    UnknownQuestion,
)
from saleroom.bidding.domain.questions import ANSWER_CHARACTERS_MAX, QUESTION_CHARACTERS_MAX, QuestionView
from saleroom.bidding.service import questions
from saleroom.bidding.services import BiddingServices
from saleroom.http.endpoints import Access, Call, Endpoint
from saleroom.http.forms import Field, Form, positive_whole, text
from saleroom.http.responses import json_response

NUMBER_MAX = 2**31 - 1
QUESTION = Form(
    name="NewQuestion",
    example={"text": "Does the clock run?"},
    fields=(
        Field(
            name="text",
            to="text",
            parse=text(1, QUESTION_CHARACTERS_MAX, lines=True),
            schema={"type": "string", "minLength": 1, "maxLength": QUESTION_CHARACTERS_MAX},
            required=True,
            about="Line breaks are kept.",
        ),
    ),
)
ANSWER = Form(
    name="AnswerText",
    example={"question": 1, "text": "It runs for eight days."},
    fields=(
        Field(
            name="question",
            to="question",
            parse=positive_whole(NUMBER_MAX),
            schema={"type": "integer", "minimum": 1, "maximum": NUMBER_MAX},
            required=True,
            about="The `number` of the question.",
        ),
        Field(
            name="text",
            to="text",
            parse=text(1, ANSWER_CHARACTERS_MAX, lines=True),
            schema={"type": "string", "minLength": 1, "maxLength": ANSWER_CHARACTERS_MAX},
            required=True,
            nullable=True,
            about="Null declines the question. Line breaks are kept.",
        ),
    ),
)


class QuestionsView(Struct, frozen=True):
    """The questions on an auction that the caller sees, the oldest first."""

    questions: list[QuestionView]


async def list_questions(call: Call[BiddingServices]) -> Response:
    """GET /auctions/{gid}/questions."""
    found = await call.services.shared_reads.ask(questions.of_lot, call.viewer, call.identifier)
    return json_response(QuestionsView(found))


async def ask(call: Call[BiddingServices]) -> Response:
    """POST /auctions/{gid}/questions."""
    asked = await call.services.tokens.write(questions.ask, call.token, call.identifier, call.values["text"])
    return json_response(asked, 201)


async def answer(call: Call[BiddingServices]) -> Response:
    """POST /auctions/{gid}/answers."""
    number, said = call.values["question"], call.values["text"]
    settled = await call.services.tokens.write(questions.answer, call.token, call.identifier, number, said)
    return json_response(settled, 201)


ENDPOINTS: tuple[Endpoint[BiddingServices], ...] = (
    Endpoint(
        method="GET",
        path="/auctions/{gid}/questions",
        name="listQuestions",
        summary="List the questions on an auction with their answers, the oldest first",
        handler=list_questions,
        tag="auctions",
        identifier=AUCTION,
        access=Access.TOKEN_OPTIONAL,
        answer=QuestionsView,
        errors=(UnknownAuction, TakenDown),
        about="Everybody sees the answered ones; the seller the open ones too, and each user the user's own.",
    ),
    Endpoint(
        method="POST",
        path="/auctions/{gid}/questions",
        name="askQuestion",
        summary="Ask the seller of an auction, until its end",
        handler=ask,
        tag="auctions",
        identifier=AUCTION,
        access=Access.TOKEN,
        form=QUESTION,
        status=201,
        answer=QuestionView,
        errors=(UnknownAuction, TakenDown, OwnAuction, AuctionOver, TooManyQuestions, QuestionsFull),
        about="Only the seller sees it until it is answered, and nobody is told who has asked. "
        "The same text from the same user again adds nothing.",
    ),
    Endpoint(
        method="POST",
        path="/auctions/{gid}/answers",
        name="answerQuestion",
        summary="Answer or decline a question on my auction, until its end",
        handler=answer,
        tag="auctions",
        identifier=AUCTION,
        access=Access.TOKEN,
        form=ANSWER,
        status=201,
        answer=QuestionView,
        errors=(UnknownAuction, UnknownQuestion, NotAuthor, QuestionSettled, AuctionOver),
        about="With an answer, everybody sees both; they cannot be changed or deleted. A declined question is shown only to "
        "its asker. The same answer again adds nothing.",
    ),
)
