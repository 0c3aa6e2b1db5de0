import { z } from 'zod';
import { rentalStatus } from '../../records/rental.ts';
import { adminOperation, nanoUsd, timestamp } from '../../operation-builders.ts';
import { nodeStatus } from '../node-schemas.ts';

/** Operator operations: the state of the whole installation on one page. */

const count = z.int().nonnegative();

const revenue = z
  .object({
    totalNanoUsd: nanoUsd,
    products: z
      .object({ rentals: nanoUsd, volumes: nanoUsd, instances: nanoUsd, inference: nanoUsd })
      .meta({ description: 'The amount per product; the amounts add up to `totalNanoUsd`.' }),
  })
  .meta({
    id: 'Revenue',
    description:
      'The operator’s share of all charges, less refunds. For instances of suppliers, that is the platform fee.',
  });

const overview = z
  .object({
    revenue: z.object({
      readAt: timestamp.meta({ description: 'When the amounts were read; they may be up to a minute old.' }),
      today: revenue.meta({ description: 'Since midnight UTC.' }),
      month: revenue.meta({ description: 'Since the first of the month, UTC.' }),
      days: z
        .array(z.object({ day: timestamp, ...revenue.shape }))
        .max(31)
        .meta({
          description: 'The last 31 days (UTC), oldest first, without days that had no revenue.',
        }),
    }),
    gpus: z
      .array(
        z.object({
          gpuType: z.string(),
          total: count,
          rented: count,
          free: count.meta({ description: 'GPUs that can be rented now.' }),
          unavailable: count.meta({
            description: 'Neither rented nor free, for example because the node is offline or draining.',
          }),
        }),
      )
      .meta({ description: 'By GPU type, without removed nodes.' }),
    nodes: z
      .array(z.object({ status: nodeStatus, count }))
      .meta({ description: 'By status, without removed nodes and statuses that no node has.' }),
    rentals: z
      .array(z.object({ status: rentalStatus, count }))
      .meta({ description: 'Rentals and instances that have not ended, by status.' }),
    pending: z
      .object({
        suppliers: count.meta({ description: 'Applications of suppliers.' }),
        machines: count.meta({ description: 'Machines of suppliers that wait for approval.' }),
        payouts: count,
        payoutsNanoUsd: nanoUsd.meta({ description: 'The sum of the requested payouts.' }),
      })
      .meta({ description: 'Decisions that the operator has not made yet.' }),
  })
  .meta({ id: 'AdminOverview' });

export const adminOverviewOperations = {
  adminGetOverview: adminOperation('GET /v2/admin/overview', {
    scope: 'admin:read',
    summary: 'Read revenue, utilisation, faults and pending decisions',
    description: 'Live mode only.',
    tags: ['overview'],
    response: { status: 200, schema: overview },
  }),
} as const;
