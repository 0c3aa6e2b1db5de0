import type { Item, Output } from '@millrace/sdk';
import { usdText } from '@millrace/sdk/text';
import { sortAttention, type AttentionItem } from '../../../ui/logic/attention-items.ts';
import { quarantineAdvice } from '../market-status.ts';
import { percentText } from '../percent-text.ts';
import { reliabilityFaults } from '../reliability-faults.ts';

/** Finds machines that do not earn although they could, and money that can be requested. */

export type SupplierMachine = Item<'supplierListMachines'>;
export type Earnings = Output<'supplierGetEarnings'>;

/** A machine that fails more often than this deserves a look. */
const RELIABILITY_WARNING = 0.95;

export function supplierAttention(
  machines: readonly SupplierMachine[],
  earnings: Pick<Earnings, 'payableNanoUsd'>,
): readonly AttentionItem[] {
  return sortAttention([...machines.flatMap(machineItems), ...payoutItems(earnings)]);
}

function machineItems(machine: SupplierMachine): readonly AttentionItem[] {
  const { id, name, status, statusReason, approval, reliability } = machine;
  const item = { key: id, to: `/supplier/machines/${id}` };
  if (status === 'node_offline' || status === 'node_quarantined') {
    const title = `${name} is ${status === 'node_offline' ? 'offline' : 'quarantined'}`;
    const why = statusReason ?? 'It cannot be rented and earns nothing.';
    const detail = status === 'node_quarantined' ? `${why} ${quarantineAdvice}` : why;
    return [{ ...item, tone: 'bad', title, detail }];
  }
  if (approval === 'pending') {
    return [
      { ...item, tone: 'info', title: `${name} waits for approval`, detail: 'The operator reviews it.' },
    ];
  }
  if (!machine.shown) {
    const detail = machine.notShownBecause ?? 'The machine is incomplete.';
    return [{ ...item, tone: 'warn', title: `${name} is not listed`, detail }];
  }
  if (reliability === null || reliability.score >= RELIABILITY_WARNING) return [];
  const detail = reliabilityFaults(reliability);
  // A new machine begins near 90 %, although nothing has failed.
  if (detail === null) return [];
  const title = `${name} has a reliability of ${percentText(reliability.score)}`;
  return [{ ...item, tone: 'warn', title, detail }];
}

function payoutItems({ payableNanoUsd }: Pick<Earnings, 'payableNanoUsd'>): readonly AttentionItem[] {
  const payable = BigInt(payableNanoUsd);
  if (payable <= 0n) return [];
  const title = `${usdText(payable)} can be paid out`;
  return [{ key: 'payout', tone: 'info', title, detail: 'Request a payout.', to: '/supplier/earnings' }];
}

export interface MachineCounts {
  readonly machines: number;
  readonly listed: number;
  readonly gpus: number;
  readonly rentedGpus: number;
}

export function countMachines(machines: readonly SupplierMachine[]): MachineCounts {
  return {
    machines: machines.length,
    listed: machines.filter(({ shown, status }) => shown && status === 'node_ready').length,
    gpus: machines.reduce((count, { gpus }) => count + gpus.length, 0),
    rentedGpus: machines.reduce((count, { gpusRented }) => count + gpusRented, 0),
  };
}
