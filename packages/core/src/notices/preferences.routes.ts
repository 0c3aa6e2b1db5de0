import type { ResponseBody, Contract } from '@millrace/contract';
import { noticeCategoryNames } from '@millrace/contract';
import type { Db, Reader } from '@millrace/platform/db';
import { Fault } from '@millrace/platform/fault';
import { requirePrincipal, type HttpServer } from '@millrace/platform/http';
import type { OrgId } from '@millrace/platform/ids';
import {
  appendAuditEntry,
  authorizeCaller,
  findMembership,
  callContextOf,
  readCommitted,
} from '../identity/index.ts';
import { preferencesOf } from './notices.ts';
import { findChoices, saveChoice, type PreferenceOwner } from './preferences.store.ts';

export interface NoticeRoutes {
  readonly server: HttpServer;
  readonly operations: Contract['operations'];
  readonly db: Db;
}

type WirePreferences = ResponseBody<Contract['operations']['getNoticePreferences']>;

/** Email preferences of the key's user in the organisation of the key. */
export function serveNotices({ server, operations, db }: NoticeRoutes): void {
  server.serve(operations.getNoticePreferences, ({ context }) => {
    const { orgId, userId, mode } = requirePrincipal(context);
    return readPreferences(db, orgId, { userId, mode });
  });

  server.serve(operations.updateNoticePreferences, ({ body, context, transact }) =>
    transact({ name: 'choose notices', isolation: readCommitted }, async (tx) => {
      const call = callContextOf(context);
      const { key } = await authorizeCaller(tx, call, 'notices:write');
      const { orgId, userId, mode } = key;
      const chosen = noticeCategoryNames.flatMap((category) => {
        const wanted = body.preferences[category];
        return wanted === undefined ? [] : [{ category, wanted }];
      });
      const before = await findChoices(tx, orgId, { userId, mode });
      for (const choice of chosen) await saveChoice(tx, orgId, { userId, mode }, choice);
      if (chosen.length > 0) {
        await appendAuditEntry(tx, orgId, call.cause, {
          action: 'notice_preferences.changed',
          resource: { kind: 'user', id: userId },
          before,
          after: await findChoices(tx, orgId, { userId, mode }),
        });
      }
      return { body: await readPreferences(tx, orgId, { userId, mode }) };
    }),
  );
}

async function readPreferences(
  reader: Reader,
  orgId: OrgId,
  owner: PreferenceOwner,
): Promise<WirePreferences> {
  const membership = await findMembership(reader, orgId, owner.userId);
  // The key was valid when the request arrived; its user may have left since.
  if (membership === null) throw new Fault('API_KEY_REVOKED');
  const { role, user } = membership.member;
  const choices = await findChoices(reader, orgId, owner);
  return { email: user.email, preferences: preferencesOf(role, owner.mode, choices) };
}
