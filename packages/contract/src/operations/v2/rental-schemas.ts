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
import { nanoUsd, prefixedId, tags, timestamp } from '../../operation-builders.ts';

/** What our own rental operations answer with: options, quotes, and everything that is known of a rental. */

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
      description: 'The same to the nano-USD, as a decimal string: what the meter of a rental goes by.',
    }),
    totalAvailable: z.int().nonnegative().meta({
      description: 'How many could be reserved now, one after the other; counted at most a second ago.',
    }),
    enabled: z.boolean().meta({
      description:
        'False: the region is not open for new work, or nobody watches its machines at the moment.',
    }),
    nodes: z.array(node).meta({ description: 'What the machine gets at least, node by node.' }),
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
        'Of one GPU, discounted. Where regions or networks differ in price it is the lowest; a quote tells the exact one.',
    }),
    originalCostPerHour: z.number().nonnegative().meta({ description: 'The same without the discount.' }),
    enabled: z.boolean().meta({
      description: 'False: nothing that it applies to is open for new work at the moment.',
    }),
    earlyTerminationRefundPercentage: z.number().min(0).max(100).meta({
      description: 'What is given back of the rest of the term when it is ended early.',
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

/** A rental as our own operations show it: the interface's active record, for both types, and more. */
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
          'What an hour costs after a stop that releases the GPUs: the disk that is kept. Null: this rental cannot release them.',
      }),
      billingPausedAt: timestamp.nullable().meta({
        description:
          'Since when it is not billed because its machine is not there for you. Null: it is not paused.',
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
      expiresAt: timestamp.nullable().meta({ description: 'The end of its time to live.' }),
      maxUsd: z.number().positive().nullable(),
      costSoFarNanoUsd: nanoUsd.meta({ description: 'As `totalNanoUsd` of its cost, at this moment.' }),
      steps: z.array(rentalStep).meta({
        description: 'How it was brought up, switched and ended, step by step: the last 50, oldest first.',
      }),
    })
    .meta({ id: 'RentalDetail' });
}

/** What somebody wants to rent, for a quote or an explanation. Nothing is reserved by asking. */
export const rentalRequest = z
  .object({
    rentalType,
    gpuCount: z.int().min(1).max(100_000),
    gpuType: gpuType.default('h100'),
    region: region.default('us-central-1'),
    networkType: networkType.default('ethernet'),
    cudaVersion: cudaVersion
      .optional()
      .meta({ description: 'The CUDA that the driver must support at least.' }),
    termType: requestedTermType.default('on-demand'),
    termPeriodDays: z.int().min(1).max(3650).optional(),
    discountPercentage: z.number().min(0).max(100).default(0),
    storageSizeInGb: z.int().min(256).max(64_000).optional(),
    durationSeconds: z.int().min(1).max(315_360_000).optional().meta({
      description: 'Also tell the cost of running this long.',
    }),
  })
  .meta({ id: 'RentalWish' });

export const quote = z
  .object({
    costPerHour: z.number().nonnegative(),
    costPerHourNanoUsd: nanoUsd,
    originalCostPerHour: z.number().nonnegative(),
    discountPercentage: z.number(),
    costPerSecondNanoUsd: nanoUsd.meta({
      description: 'Rounded up, to look at. Time is charged by the millisecond from the price of an hour.',
    }),
    lines: z
      .array(
        z.object({
          kind: z.enum(['gpu', 'discount', 'storage']),
          description: z.string(),
          costPerHourNanoUsd: nanoUsd,
        }),
      )
      .meta({ description: 'What the price is made of; the lines add up to it.' }),
    minimumBalanceNanoUsd: nanoUsd.meta({ description: 'What must be available for create to succeed.' }),
    holdNanoUsd: nanoUsd.meta({ description: 'What create takes out of the available balance at once.' }),
    totalNanoUsd: nanoUsd.nullable().meta({ description: 'For `durationSeconds`, or for the whole term.' }),
    term: z
      .object({
        termPeriodDays: z.int().positive(),
        committedNanoUsd: nanoUsd,
        earlyTerminationRefundPercentage: z.number(),
        onDemandCostPerHourNanoUsd: nanoUsd.meta({
          description: 'What an hour costs after the term, if the rental goes on.',
        }),
      })
      .nullable(),
    released: z
      .object({
        diskGb: z.int().positive().meta({
          description: 'What its disk has at least; on a host that has more it has more.',
        }),
        costPerHourNanoUsd: nanoUsd.meta({ description: 'An hour of a disk of that size.' }),
      })
      .nullable()
      .meta({
        description:
          'What it costs after a stop that gave its GPUs back: its disk alone. Null: they cannot be given back, so that it costs the same whether it is on or off; or nothing is known of such machines.',
      }),
    runwaySeconds: z.int().nonnegative().nullable().meta({
      description:
        'How long the balance would last with this beside what runs now; null when nothing costs anything.',
    }),
    available: z.boolean(),
    idleRules: z.boolean().meta({
      description:
        'Whether create accepts an idle rule for it. False on bare metal and where machines do not report how busy their GPUs are.',
    }),
    affordable: z.boolean(),
    validUntil: timestamp.meta({
      description: 'Until when the price book, as it stands, asks this price.',
    }),
  })
  .meta({ id: 'Quote' });

/** In the order in which they are looked at: a host counts under the first that excludes it. */
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
    description: `One of ${placementBlockers.join(', ')}; more may come.`,
    examples: ['NO_FREE_GPUS', 'NODE_DRAINING', 'REGION_DISABLED'],
  }),
  message: z.string(),
  nodeCount: z.int().nonnegative().meta({
    description: 'The hosts that it excludes, each counted once, under the first obstacle that excludes it.',
  }),
});

export const placementDiagnosis = z
  .object({
    placeable: z.boolean().meta({
      description: 'Whether hosts could take it now. Money and limits of the organisation are not looked at.',
    }),
    nodesConsidered: z.int().nonnegative().meta({
      description: 'Hosts of the region for this type of machine: those that fit and those of all obstacles.',
    }),
    nodesFitting: z.int().nonnegative().meta({ description: 'Hosts that nothing excludes.' }),
    obstacles: z.array(obstacle).meta({ description: 'In the order in which they are looked at.' }),
    costPerHour: z.number().nonnegative().nullable().meta({
      description: 'On demand, before discounts. Null: it has no price, so it cannot be rented.',
    }),
    capacityExpectedAt: timestamp.nullable().meta({
      description:
        'When enough is known to come free, up to the minute, if nobody else takes it first. Null: it fits now, or it is not known.',
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
      .meta({ description: 'What could be had now instead, nearest to the wish first; none when it fits.' }),
  })
  .meta({ id: 'PlacementExplanation' });

const money = z.object({ amountUsd: z.number(), nanoUsd });

export const terminateResponse = z
  .object({
    message: z.string(),
    rentalId: z.int32(),
    status: rentalStatus,
    billingStoppedAt: timestamp.nullable().meta({ description: 'Null when billing never began.' }),
    finalCost: money,
    commitment: z
      .object({ owedNanoUsd: nanoUsd, refundPercentage: z.number(), refundNanoUsd: nanoUsd })
      .nullable()
      .optional()
      .meta({ description: 'For a reserved term ended early: what stays owed.' }),
  })
  .meta({ id: 'RentalTermination' });

export const rentalCost = z
  .object({
    rentalId: z.int32(),
    totalNanoUsd: nanoUsd.meta({
      description:
        'What it has cost by now: what is posted, and what has run up since. The lines add up to it.',
    }),
    postedNanoUsd: nanoUsd.meta({
      description:
        'What was charged for it so far, less what was given back; refunds by the operator are not in it.',
    }),
    heldNanoUsd: nanoUsd.meta({ description: 'What is set aside for it.' }),
    lines: z.array(
      z.object({
        meter: z.enum(['gpu', 'disk', 'term', 'credit']).meta({
          description:
            '`disk`: kept while stopped without GPUs. `term`: what stays owed of a term that was ended early. `credit`: time that was charged and given back, so its amount is negative.',
        }),
        from: timestamp,
        until: timestamp.nullable().meta({ description: 'Null: it goes on.' }),
        seconds: z.int().nonnegative().meta({
          description: 'That count, without pauses; charged to the millisecond.',
        }),
        costPerHourNanoUsd: nanoUsd,
        amountNanoUsd: nanoUsd,
        transferIds: z.array(z.string()).meta({
          description:
            'The entries of the ledger that it was posted with; the newest part may not be posted yet.',
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
