import type { ResponseBody, Contract } from '@millrace/contract';
import type { Timer } from '@millrace/platform/clock';
import type { Db } from '@millrace/platform/db';
import { Fault } from '@millrace/platform/fault';
import { requireSessionUser, type HttpServer } from '@millrace/platform/http';
import { parseId, type SessionId } from '@millrace/platform/ids';
import { readCommitted } from '../route-helpers.ts';
import { endSession, listSessions, type SessionRecord } from './sessions.store.ts';

type WireSession = ResponseBody<Contract['operations']['listMySessions']>['items'][number];

/** The sessions of a user. Responses never contain tokens. */
export function serveSessions(routes: {
  readonly server: HttpServer;
  readonly operations: Contract['operations'];
  readonly db: Db;
  readonly clock: Timer;
  /** Invalidates the cached sessions of the user in this process. */
  readonly invalidatePerson: (userId: string) => void;
}): void {
  const { server, operations, db } = routes;

  server.serve(operations.listMySessions, async ({ context }) => {
    const { userId, sessionId } = requireSessionUser(context);
    const sessions = await listSessions(db, userId, db.clock.now());
    return { items: sessions.map((session) => toWireSession(session, sessionId)) };
  });

  server.serve(operations.endMySession, ({ params, context, transact }) => {
    const { userId } = requireSessionUser(context);
    const id = parseId('ses', params.sessionId);
    if (id === null) throw new Fault('SESSION_NOT_FOUND');
    return transact({ name: 'end session', isolation: readCommitted }, async (tx) => {
      if (!(await endSession(tx, userId, id))) throw new Fault('SESSION_NOT_FOUND');
      tx.afterCommit(() => routes.invalidatePerson(userId));
      return { body: undefined };
    });
  });
}

function toWireSession(session: SessionRecord, current: SessionId): WireSession {
  return {
    id: session.id,
    current: session.id === current,
    ip: session.ip,
    userAgent: session.userAgent,
    createdAt: session.createdAt.toISOString(),
    lastSeenAt: session.updatedAt.toISOString(),
    expiresAt: session.expiresAt.toISOString(),
  };
}
