import type { NodeId, OrgId, StatementId, SupplierId } from '@millrace/platform/ids';
import { addUsd, type NanoUsd } from '@millrace/platform/money';
import { MONTH_CLOSED_AFTER_MS } from '../../ledger/index.ts';
import { toGpuSeconds, sumEarningTotals, type MachineEarnings } from './earnings.ts';

export interface StatementLine {
  readonly machineId: NodeId | null;
  readonly gpuSeconds: number;
  readonly gross: NanoUsd;
  readonly fee: NanoUsd;
}

export interface StatementSummary {
  readonly id: StatementId;
  readonly periodStart: Date;
  readonly periodEnd: Date;
  readonly gross: NanoUsd;
  readonly fee: NanoUsd;
  readonly net: NanoUsd;
}

export interface Statement extends StatementSummary {
  readonly lines: readonly StatementLine[];
}

/** A month of a supplier without a statement. */
export interface DueStatement {
  readonly supplierId: SupplierId;
  readonly orgId: OrgId;
  readonly month: Date;
}

/** After this time the ledger posts nothing more to the month. */
export const STATEMENT_DELAY_MS = MONTH_CLOSED_AFTER_MS;

export function buildStatement(
  id: StatementId,
  period: Pick<Statement, 'periodStart' | 'periodEnd'>,
  machines: readonly MachineEarnings[],
): Statement {
  const { gross, fee, earned } = sumEarningTotals(machines);
  const lines = machines.map((machine) => ({
    machineId: machine.machineId,
    gpuSeconds: toGpuSeconds(machine.gpuMs),
    gross: machine.gross,
    fee: machine.fee,
  }));
  if (gross !== addUsd(fee, earned)) throw new Error(`A statement of ${gross} nano-USD does not add up.`);
  return { id, ...period, gross, fee, net: earned, lines };
}
