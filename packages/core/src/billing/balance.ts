import type { Reader } from '@millrace/platform/db';
import type { Mode } from '@millrace/platform/envelope';
import type { OrgId } from '@millrace/platform/ids';
import { zeroUsd } from '@millrace/platform/money';
import type { Balance, Burn } from '../ledger/index.ts';

/**
 * What an organisation spends in an hour as things run now. Who meters knows it; billing is only told, because it must
 * not depend on what is metered.
 */
export type BurnOf = (reader: Reader, orgId: OrgId, mode: Mode, now: Date) => Promise<Burn>;

/** For an installation where nothing is metered. */
export const noBurn: BurnOf = () => Promise.resolve({ burnPerHour: zeroUsd, cover: zeroUsd });

/** An organisation's money, and how fast it goes. */
export interface BalanceView extends Balance, Burn {}
