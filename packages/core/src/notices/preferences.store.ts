import { noticeCategoryNames, type NoticeCategory } from '@millrace/contract';
import type { Reader, Tx } from '@millrace/platform/db';
import type { Mode } from '@millrace/platform/envelope';
import { toUuid, type OrgId, type UserId } from '@millrace/platform/ids';
import type { CategoryChoices } from './notices.ts';

/** All SQL about email preferences. */

export interface ChoiceRow {
  readonly category: string;
  readonly wanted: boolean;
}

/** Ignores choices of categories that no longer exist. */
export function choicesOf(rows: readonly ChoiceRow[]): CategoryChoices {
  const names: readonly string[] = noticeCategoryNames;
  return Object.fromEntries(
    rows.filter(({ category }) => names.includes(category)).map(({ category, wanted }) => [category, wanted]),
  );
}

export interface PreferenceOwner {
  readonly userId: UserId;
  readonly mode: Mode;
}

export async function findChoices(
  reader: Reader,
  orgId: OrgId,
  { userId, mode }: PreferenceOwner,
): Promise<CategoryChoices> {
  const rows = await reader.kysely
    .selectFrom('notice_preferences')
    .select(['category', 'wanted'])
    .where('org_id', '=', toUuid(orgId))
    .where('user_id', '=', toUuid(userId))
    .where('mode', '=', mode)
    .execute();
  return choicesOf(rows);
}

/** Null removes a choice. */
export async function saveChoice(
  tx: Tx,
  orgId: OrgId,
  { userId, mode }: PreferenceOwner,
  choice: { readonly category: NoticeCategory; readonly wanted: boolean | null },
): Promise<void> {
  const { category, wanted } = choice;
  if (wanted === null) {
    await tx.kysely
      .deleteFrom('notice_preferences')
      .where('org_id', '=', toUuid(orgId))
      .where('user_id', '=', toUuid(userId))
      .where('mode', '=', mode)
      .where('category', '=', category)
      .execute();
    return;
  }
  const changed = { wanted, updated_at: tx.clock.now() };
  await tx.kysely
    .insertInto('notice_preferences')
    .values({ org_id: toUuid(orgId), user_id: toUuid(userId), mode, category, ...changed })
    .onConflict((conflict) =>
      conflict.columns(['org_id', 'user_id', 'mode', 'category']).doUpdateSet(changed),
    )
    .execute();
}
