import type { Reader } from '@millrace/platform/db';
import type { Mode } from '@millrace/platform/envelope';
import type { OrgId } from '@millrace/platform/ids';
import { zeroUsd } from '@millrace/platform/money';
import type { Balance, BurnRate } from '../ledger/index.ts';

/**
 * What an organisation spends in an hour as things run now. Who meters knows it; billing is only told, because it must
 * not depend on what is metered.
 */
export type ReadBurnRate = (reader: Reader, orgId: OrgId, mode: Mode, now: Date) => Promise<BurnRate>;

/** For an installation where nothing is metered. */
export const zeroBurnRate: ReadBurnRate = () => Promise.resolve({ burnPerHour: zeroUsd, cover: zeroUsd });

/** An organisation's money, and how fast it goes. */
export interface BalanceView extends Balance, BurnRate {}
