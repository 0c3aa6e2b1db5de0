import type { Contract, MachineState, RentalState, ResponseBody } from '@millrace/contract';
import type { GpuCounts } from '../fleet/index.ts';
import type { PendingDecisions } from '../suppliers/index.ts';
import type { Revenue, RevenueReport } from './revenue-report.ts';

type WireOverview = ResponseBody<Contract['operations']['adminGetOverview']>;

interface Overview {
  readonly report: RevenueReport;
  readonly gpus: readonly GpuCounts[];
  readonly nodes: ReadonlyMap<MachineState, number>;
  readonly rentals: ReadonlyMap<RentalState, number>;
  readonly pending: PendingDecisions;
}

export function toWireOverview({ report, gpus, nodes, rentals, pending }: Overview): WireOverview {
  return {
    revenue: {
      readAt: report.readAt.toISOString(),
      today: toWireRevenue(report.today),
      month: toWireRevenue(report.month),
      days: report.days.map(({ day, revenue }) => ({ day: day.toISOString(), ...toWireRevenue(revenue) })),
    },
    gpus: gpusByType(gpus.filter(({ mode }) => mode === 'live')),
    nodes: [...nodes]
      .filter(([status]) => status !== 'node_removed')
      .map(([status, count]) => ({ status, count })),
    rentals: [...rentals].map(([status, count]) => ({ status, count })),
    pending: {
      suppliers: pending.suppliers,
      machines: pending.machines,
      payouts: pending.payouts,
      payoutsNanoUsd: pending.payoutAmount.toString(),
    },
  };
}

function toWireRevenue({ total, products }: Revenue): WireOverview['revenue']['today'] {
  return {
    totalNanoUsd: total.toString(),
    products: {
      rentals: products.rentals.toString(),
      volumes: products.volumes.toString(),
      instances: products.instances.toString(),
      inference: products.inference.toString(),
    },
  };
}

/** Adds up the regions. A rented GPU can be missing, so the rest is never below zero. */
function gpusByType(gpus: readonly GpuCounts[]): WireOverview['gpus'] {
  const types = [...new Set(gpus.map(({ gpuType }) => gpuType))].toSorted();
  return types.map((gpuType) => {
    const same = gpus.filter((each) => each.gpuType === gpuType);
    const sum = (field: 'total' | 'free' | 'allocated'): number =>
      same.reduce((count, each) => count + each[field], 0);
    const [total, free, rented] = [sum('total'), sum('free'), sum('allocated')];
    return { gpuType, total, rented, free, unavailable: Math.max(0, total - rented - free) };
  });
}
