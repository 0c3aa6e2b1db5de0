import type { Reader } from '@millrace/platform/db';
import type { Mode } from '@millrace/platform/envelope';
import type { OrgId } from '@millrace/platform/ids';
import { zeroUsd } from '@millrace/platform/money';
import type { Balance, BurnRate } from '../ledger/index.ts';

/** The burn rate of an organisation. A port, because billing must not depend on metering. */
export type ReadBurnRate = (reader: Reader, orgId: OrgId, mode: Mode, now: Date) => Promise<BurnRate>;

export const zeroBurnRate: ReadBurnRate = () => Promise.resolve({ burnPerHour: zeroUsd, cover: zeroUsd });

export interface BalanceView extends Balance, BurnRate {}
