import { z } from 'zod';
import type { ProviderDataSchema } from '../../records/provider-data.ts';
import { createActiveBareMetalRental, rentalStatus } from '../../records/rental.ts';
import {
  cudaVersion,
  gpuFormFactor,
  gpuType,
  networkType,
  region,
  rentalType,
  requestedTermType,
} from '../../records/vocabulary.ts';
import { livePrice, nanoUsd, prefixedId, tags, timestamp } from '../../operation-builders.ts';

/** Schemas of rental extension operations: offers, quotes, and details of a rental. */

const node = z.object({
  cpuModel: z.string(),
  vcpuCount: z.int().nonnegative(),
  ramGb: z.number().nonnegative(),
  storageGb: z.number().nonnegative(),
  gpuCount: z.int().nonnegative(),
});

export const rentalOption = z
  .object({
    gpuType,
    gpuCount: z.int().positive(),
    region,
    machineType: rentalType,
    gpuFormFactor,
    connectionType: networkType,
    costPerHour: z.number().nonnegative(),
    costPerHourCents: z.int().nonnegative().meta({ description: 'Rounded up to a whole cent; for display.' }),
    pricePerHourNanoUsd: nanoUsd.meta({
      description: 'The exact price in nano-USD, as a decimal string, which the meter of a rental uses.',
    }),
    livePricePerHourNanoUsd: livePrice('The price per hour in live mode.'),
    totalAvailable: z.int().nonnegative().meta({
      description: 'How many could be reserved now, one after the other; at most a second old.',
    }),
    enabled: z.boolean().meta({
      description:
        'False: the region is closed for new work, or its machines are not being observed at the moment.',
    }),
    nodes: z.array(node).meta({ description: 'The minimum of each node.' }),
  })
  .meta({ id: 'RentalOption' });

export const reserveOption = z
  .object({
    id: prefixedId('rso', 'a reserve option'),
    machineType: rentalType,
    gpuType,
    region: region.nullable().meta({ description: 'Null: every region.' }),
    termPeriodDays: z.int().positive(),
    discountPercentage: z.number().min(0).max(100),
    costPerHour: z.number().nonnegative().meta({
      description:
        'Per GPU, discounted. The lowest if prices differ by region or network; a quote has the exact price.',
    }),
    originalCostPerHour: z.number().nonnegative().meta({ description: 'The same without the discount.' }),
    enabled: z.boolean().meta({
      description: 'False: nothing that it applies to accepts new work at the moment.',
    }),
    earlyTerminationRefundPercentage: z.number().min(0).max(100).meta({
      description: 'The share of the remaining term that is refunded at an early end.',
    }),
  })
  .meta({ id: 'ReserveOption' });

export const rentalStep = z.object({
  name: z.string(),
  status: z.enum(['waiting', 'running', 'done', 'failed', 'undone']),
  startedAt: timestamp.nullable(),
  endedAt: timestamp.nullable(),
  message: z.string().nullable(),
});

/** A rental in extension operations: the active baseline record for both types, with more fields. */
export function createRentalDetail(providerData: ProviderDataSchema) {
  const active = createActiveBareMetalRental(providerData).shape;
  return z
    .object({
      ...active,
      rentalType,
      status: rentalStatus,
      statusReason: z.string().nullable(),
      statusSince: timestamp,
      power: z.enum(['on', 'off', 'changing']),
      gpuHeld: z.boolean().meta({ description: 'False after a stop that released the GPUs.' }),
      releasedCostPerHourNanoUsd: nanoUsd.nullable().meta({
        description:
          'The price per hour of the retained disk after a stop that releases the GPUs. Null: this rental cannot release them.',
      }),
      billingPausedAt: timestamp.nullable().meta({
        description:
          'Since when billing is paused because its machine is unavailable. Null: it is not paused.',
      }),
      ssh: z.array(
        z.object({
          host: z.string(),
          port: z.int().min(1).max(65535),
          user: z.string(),
          command: z.string(),
          hostKeyFingerprint: z.string().nullable(),
        }),
      ),
      ports: z.array(z.object({ host: z.string(), externalPort: z.int(), internalPort: z.int() })),
      image: z.string().nullable(),
      tags,
      expiresAt: timestamp.nullable().meta({ description: 'The end of its TTL.' }),
      maxUsd: z.number().positive().nullable(),
      costSoFarNanoUsd: nanoUsd.meta({ description: 'The current `totalNanoUsd` of its cost.' }),
      liveCostPerHourNanoUsd: livePrice('The price per hour of its current term in live mode.'),
      liveReleasedCostPerHourNanoUsd: livePrice('`releasedCostPerHourNanoUsd` in live mode.'),
      steps: z.array(rentalStep).meta({
        description: 'The steps of its start, stops and end: the last 50, oldest first.',
      }),
    })
    .meta({ id: 'RentalDetail' });
}

/** The input of quotes and explanations. It reserves nothing. */
export const rentalRequest = z
  .object({
    rentalType,
    gpuCount: z.int().min(1).max(100_000),
    gpuType: gpuType.default('h100'),
    region: region.default('us-central-1'),
    networkType: networkType.default('ethernet'),
    cudaVersion: cudaVersion
      .optional()
      .meta({ description: 'The lowest CUDA version that the driver must support.' }),
    termType: requestedTermType.default('on-demand'),
    termPeriodDays: z.int().min(1).max(3650).optional(),
    discountPercentage: z.number().min(0).max(100).default(0),
    storageSizeInGb: z.int().min(256).max(64_000).optional(),
    durationSeconds: z.int().min(1).max(315_360_000).optional().meta({
      description: 'Also returns the cost of running this long.',
    }),
  })
  .meta({ id: 'RentalWish' });

/** The amounts of a quote that depend on the price list. */
const quotedAmounts = {
  costPerHourNanoUsd: nanoUsd,
  lines: z
    .array(
      z.object({
        kind: z.enum(['gpu', 'discount', 'storage']),
        description: z.string(),
        costPerHourNanoUsd: nanoUsd,
      }),
    )
    .meta({ description: 'The parts of the price; the lines add up to it.' }),
  minimumBalanceNanoUsd: nanoUsd.meta({ description: 'The available balance that create needs.' }),
  totalNanoUsd: nanoUsd.nullable().meta({ description: 'For `durationSeconds`, or for the whole term.' }),
  term: z
    .object({
      termPeriodDays: z.int().positive(),
      committedNanoUsd: nanoUsd,
      earlyTerminationRefundPercentage: z.number(),
      onDemandCostPerHourNanoUsd: nanoUsd.meta({
        description: 'The price per hour after the term, if the rental continues.',
      }),
    })
    .nullable(),
  released: z
    .object({
      diskGb: z.int().positive().meta({
        description: 'The minimum size of its disk; it is larger on a host with more space.',
      }),
      costPerHourNanoUsd: nanoUsd.meta({ description: 'The price per hour of a disk of that size.' }),
    })
    .nullable()
    .meta({
      description:
        'The price after a stop that released its GPUs: its disk only. Null: the GPUs cannot be released, so it costs the same while stopped; or no such machines are known.',
    }),
};

export const quote = z
  .object({
    costPerHour: z.number().nonnegative(),
    costPerHourNanoUsd: quotedAmounts.costPerHourNanoUsd,
    originalCostPerHour: z.number().nonnegative(),
    discountPercentage: z.number(),
    costPerSecondNanoUsd: nanoUsd.meta({
      description: 'Rounded up, for display. Time is charged by the millisecond from the price of an hour.',
    }),
    lines: quotedAmounts.lines,
    minimumBalanceNanoUsd: quotedAmounts.minimumBalanceNanoUsd,
    holdNanoUsd: nanoUsd.meta({ description: 'The amount that create takes out of the available balance.' }),
    totalNanoUsd: quotedAmounts.totalNanoUsd,
    term: quotedAmounts.term,
    released: quotedAmounts.released,
    live: z.object(quotedAmounts).optional().meta({
      description:
        'The amounts in live mode. Only in test mode, where nothing is charged, and only if the current price list has a price.',
    }),
    runwaySeconds: z.int().nonnegative().nullable().meta({
      description:
        'How long the balance would last with this rental and everything that runs now; null if nothing costs money.',
    }),
    available: z.boolean(),
    idleRules: z.boolean().meta({
      description:
        'Whether create accepts an idle rule for it. False on bare metal and if machines do not report GPU use.',
    }),
    affordable: z.boolean(),
    validUntil: timestamp.meta({
      description: 'Until when this price applies in the current price list.',
    }),
  })
  .meta({ id: 'Quote' });

/** In the order of evaluation: a host counts under the first obstacle that excludes it. */
export const placementBlockers = [
  'REGION_NOT_OFFERED',
  'GPU_COUNT_NOT_OFFERED',
  'NO_NODES_IN_REGION',
  'REGION_DISABLED',
  'CLUSTER_SILENT',
  'CLUSTER_UNWATCHED',
  'NODE_REGISTERING',
  'NODE_OFFLINE',
  'NODE_DRAINING',
  'NODE_QUARANTINED',
  'WRONG_GPU_TYPE',
  'WRONG_NETWORK',
  'CUDA_TOO_OLD',
  'NODE_TOO_SMALL',
  'NO_FREE_GPUS',
  'FABRIC_TOO_SMALL',
] as const;

export type PlacementBlocker = (typeof placementBlockers)[number];

const obstacle = z.object({
  code: z.string().meta({
    description: `One of ${placementBlockers.join(', ')}; more may be added.`,
    examples: ['NO_FREE_GPUS', 'NODE_DRAINING', 'REGION_DISABLED'],
  }),
  message: z.string(),
  nodeCount: z.int().nonnegative().meta({
    description:
      'The hosts that it excludes. Each host counts once, under the first obstacle that excludes it.',
  }),
});

export const placementDiagnosis = z
  .object({
    placeable: z.boolean().meta({
      description:
        'Whether hosts have capacity for it now. Money and limits of the organisation are not checked.',
    }),
    nodesConsidered: z.int().nonnegative().meta({
      description: 'Hosts of the region for this type of machine: those that fit and those of all obstacles.',
    }),
    nodesFitting: z.int().nonnegative().meta({ description: 'Hosts without an obstacle.' }),
    obstacles: z.array(obstacle).meta({ description: 'In the order of evaluation.' }),
    costPerHour: z.number().nonnegative().nullable().meta({
      description: 'On demand, before discounts. Null: it has no price and cannot be rented.',
    }),
    capacityExpectedAt: timestamp.nullable().meta({
      description:
        'When enough capacity is expected to become free, to the minute. Null: it fits now, or the time is unknown.',
    }),
    alternatives: z
      .array(
        z.object({
          region,
          gpuType,
          gpuCount: z.int().positive(),
          networkType,
          costPerHour: z.number().nonnegative().meta({ description: 'On demand, before discounts.' }),
          totalAvailable: z.int().nonnegative(),
        }),
      )
      .meta({
        description: 'Alternatives that are available now, closest to the request first; none if it fits.',
      }),
  })
  .meta({ id: 'PlacementExplanation' });

const money = z.object({ amountUsd: z.number(), nanoUsd });

export const terminateResponse = z
  .object({
    message: z.string(),
    rentalId: z.int32(),
    status: rentalStatus,
    billingStoppedAt: timestamp.nullable().meta({ description: 'Null if billing never started.' }),
    finalCost: money,
    commitment: z
      .object({ owedNanoUsd: nanoUsd, refundPercentage: z.number(), refundNanoUsd: nanoUsd })
      .nullable()
      .optional()
      .meta({ description: 'For a reserved term ended early: the amount still owed.' }),
  })
  .meta({ id: 'RentalTermination' });

export const rentalCost = z
  .object({
    rentalId: z.int32(),
    totalNanoUsd: nanoUsd.meta({
      description: 'The cost so far: the posted amount and the unposted time since. The lines add up to it.',
    }),
    postedNanoUsd: nanoUsd.meta({
      description: 'Charges so far, less credits; refunds by the operator are not included.',
    }),
    heldNanoUsd: nanoUsd.meta({ description: 'The amount held for it.' }),
    liveTotalNanoUsd: livePrice(
      'The cost of the same time in live mode at current prices; not for reserved terms.',
    ),
    lines: z.array(
      z.object({
        meter: z.enum(['gpu', 'disk', 'term', 'credit']).meta({
          description:
            '`disk`: kept while stopped without GPUs. `term`: the amount owed for a term that ended early. `credit`: time that was charged and credited back, so its amount is negative.',
        }),
        from: timestamp,
        until: timestamp.nullable().meta({ description: 'Null: it continues.' }),
        seconds: z.int().nonnegative().meta({
          description: 'Billed time, without pauses; charged to the millisecond.',
        }),
        costPerHourNanoUsd: nanoUsd,
        amountNanoUsd: nanoUsd,
        transferIds: z.array(z.string()).meta({
          description: 'The ledger entries of the line; its newest part might not be posted yet.',
        }),
      }),
    ),
  })
  .meta({ id: 'RentalCost' });

export const rentalHistoryEntry = z
  .object({
    rentalId: z.int32(),
    externalId: z.string(),
    rentalType,
    name: z.string().nullable(),
    label: z.string().nullable(),
    region: region.nullable(),
    gpuType,
    gpuCount: z.int32(),
    status: rentalStatus,
    createdAt: timestamp,
    startedAt: timestamp.nullable(),
    terminatedAt: timestamp.nullable(),
    terminationReason: z.string().nullable(),
    finalCost: money,
  })
  .meta({ id: 'RentalHistoryEntry' });

export const rentalMetrics = z
  .object({
    rentalId: z.int32(),
    from: timestamp,
    until: timestamp,
    stepSeconds: z.int().positive(),
    series: z.array(
      z.object({
        name: z.string().meta({ examples: ['gpu.utilisation', 'gpu.memory_used', 'cpu.utilisation'] }),
        unit: z.enum(['percent', 'bytes', 'bytes_per_second', 'watts', 'celsius', 'count']),
        device: z.string().nullable(),
        points: z.array(z.object({ at: timestamp, value: z.number().nullable() })),
      }),
    ),
  })
  .meta({ id: 'RentalMetrics' });

export const rentalConsole = z
  .object({
    rentalId: z.int32(),
    output: z
      .string()
      .meta({ description: 'The end of the serial console, with control characters removed.' }),
    truncated: z.boolean(),
    readAt: timestamp,
  })
  .meta({ id: 'RentalConsole' });
