"""The textbook peer: a careful, ordinary implementation of bids: FastAPI, SQLAlchemy's ORM, one transaction per bid.

The token is checked, the auction's row is locked (`SELECT ... FOR UPDATE`), the bid and its event are stored, and all of it
is committed before the answer. ServeProcess by uvicorn with uvloop and httptools, in one process, like the house.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Annotated, Any

from fastapi import Depends, FastAPI, Header, HTTPException, Request
from pydantic import BaseModel, Field
from sqlalchemy import JSON, DateTime, ForeignKey, Index, Numeric, UniqueConstraint, select
from sqlalchemy.ext.asyncio import AsyncSession, async_sessionmaker, create_async_engine
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column, relationship

POOL_SIZE = 20
"""The number of concurrent transactions; more made it slower."""
ENDS_IN = timedelta(days=20)

Money = Annotated[Decimal, mapped_column(Numeric(20, 3))]
Instant = Annotated[datetime, mapped_column(DateTime(timezone=True))]


class Base(DeclarativeBase):
    """The tables."""


class User(Base):
    """A bidder."""

    __tablename__ = "users"
    id: Mapped[int] = mapped_column(primary_key=True)
    username: Mapped[str] = mapped_column(unique=True)


class AuthToken(Base):
    """A session, by the digest of its token."""

    __tablename__ = "auth_tokens"
    id: Mapped[int] = mapped_column(primary_key=True)
    user_id: Mapped[int] = mapped_column(ForeignKey("users.id"))
    token: Mapped[str] = mapped_column(unique=True)
    expires_at: Mapped[Instant]
    user: Mapped[User] = relationship(lazy="joined")


class Auction(Base):
    """An auction."""

    __tablename__ = "auctions"
    id: Mapped[int] = mapped_column(primary_key=True)
    gid: Mapped[str] = mapped_column(unique=True)
    name: Mapped[str]
    increment: Mapped[Money]
    ends_at: Mapped[Instant]
    current_bid: Mapped[Money | None]
    current_bidder_id: Mapped[int | None] = mapped_column(ForeignKey("users.id"))
    current_bid_at: Mapped[Instant | None]
    bid_count: Mapped[int] = mapped_column(default=0)
    version: Mapped[int] = mapped_column(default=1)


class Bid(Base):
    """An accepted bid."""

    __tablename__ = "bids"
    id: Mapped[int] = mapped_column(primary_key=True)
    auction_id: Mapped[int] = mapped_column(ForeignKey("auctions.id"))
    number: Mapped[int]
    bidder_id: Mapped[int] = mapped_column(ForeignKey("users.id"))
    amount: Mapped[Money]
    placed_at: Mapped[Instant]
    __table_args__ = (UniqueConstraint("auction_id", "number"),)


class Event(Base):
    """An event to be sent to subscribers."""

    __tablename__ = "events"
    id: Mapped[int] = mapped_column(primary_key=True)
    auction_id: Mapped[int] = mapped_column(ForeignKey("auctions.id"))
    version: Mapped[int]
    type: Mapped[str]
    payload: Mapped[Any] = mapped_column(JSON)
    delivered_at: Mapped[Instant | None]
    __table_args__ = (
        UniqueConstraint("auction_id", "version"),
        Index("ix_events_owed", "id", postgresql_where="delivered_at IS NULL"),
    )


class BidIn(BaseModel):
    """The body of a bid."""

    amount: Decimal = Field(ge=0, max_digits=20, decimal_places=3)


class BidOut(BaseModel):
    """An accepted bid, and the auction after it."""

    auction: str
    bidder: str
    amount: Decimal
    placed_at: datetime
    minimum_bid: Decimal
    bid_count: int
    version: int
    ends_at: datetime


async def session(request: Request) -> AsyncIterator[AsyncSession]:
    """One session for each request."""
    async with request.app.state.sessions() as opened:
        yield opened


async def current_user(
    database: Annotated[AsyncSession, Depends(session)], authorization: Annotated[str, Header()] = ""
) -> User:
    """Return the user of the bearer token; 401 if there is none."""
    value = authorization.partition(" ")[2]
    digest = hashlib.sha256(value.encode()).hexdigest()
    found = await database.scalar(
        select(AuthToken).where(AuthToken.token == digest, AuthToken.expires_at > datetime.now(UTC))
    )
    if found is None:
        raise HTTPException(401, "unauthenticated")
    return found.user


async def place_bid(
    gid: str,
    asked: BidIn,
    user: Annotated[User, Depends(current_user)],
    database: Annotated[AsyncSession, Depends(session)],
) -> BidOut:
    """Accept a bid that is high enough: 201, or 404 or 409."""
    auction = await database.scalar(select(Auction).where(Auction.gid == gid).with_for_update())
    if auction is None:
        raise HTTPException(404, "unknown auction")
    now = datetime.now(UTC)
    if now >= auction.ends_at:
        raise HTTPException(409, "auction closed")
    if auction.current_bidder_id == user.id:
        raise HTTPException(409, "already leading")
    if auction.current_bid is not None and asked.amount < auction.current_bid + auction.increment:
        raise HTTPException(409, "bid too low")
    auction.current_bid, auction.current_bidder_id, auction.current_bid_at = asked.amount, user.id, now
    auction.bid_count += 1
    auction.version += 1
    placed = {
        "number": auction.bid_count,
        "bidder": user.username,
        "amount": str(asked.amount),
        "at": now.isoformat(),
        "auction": gid,
    }
    database.add(
        Bid(
            auction_id=auction.id,
            number=auction.bid_count,
            bidder_id=user.id,
            amount=asked.amount,
            placed_at=now,
        )
    )
    database.add(Event(auction_id=auction.id, version=auction.version, type="bid.placed", payload=placed))
    answer = BidOut(
        auction=gid,
        bidder=user.username,
        amount=asked.amount,
        placed_at=now,
        minimum_bid=asked.amount + auction.increment,
        bid_count=auction.bid_count,
        version=auction.version,
        ends_at=auction.ends_at,
    )
    await database.commit()
    return answer


@asynccontextmanager
async def lifespan(app: Any) -> AsyncIterator[None]:
    """Open the pool, and close it."""
    engine = create_async_engine(os.environ["TEXTBOOK_DATABASE"], pool_size=POOL_SIZE, max_overflow=0)
    app.state.sessions = async_sessionmaker(engine, expire_on_commit=False)
    yield
    await engine.dispose()


def application() -> Any:
    """Return the ASGI application, for uvicorn's `--factory`."""
    app = FastAPI(lifespan=lifespan)
    app.add_api_route("/auctions/{gid}/bids", place_bid, methods=["POST"], status_code=201)
    return app
