import { z } from 'zod';
import { adminOperation, timestamp } from '../../operation-builders.ts';

/** Operator operations: what is broken now, its effect on tenants, and where the runbook is. */

const count = z.int().nonnegative();
const seconds = z.int().nonnegative();

const problem = z
  .object({
    id: z.string().meta({ description: 'The same for as long as this problem lasts.' }),
    severity: z.enum(['critical', 'warning']),
    title: z.string().meta({ description: 'The fault, as a sentence.' }),
    effect: z.string().meta({ description: 'The effect on tenants.' }),
    runbook: z.string().meta({ description: 'The path of the page that says what to do.' }),
  })
  .meta({ id: 'HealthProblem' });

const process = z
  .object({
    name: z.string(),
    status: z.enum(['ready', 'degraded', 'not-ready', 'unreachable']).meta({
      description: 'A degraded process works without a part that is optional for it.',
    }),
    version: z.string().nullable(),
    commit: z.string().nullable(),
    tookMs: count.meta({ description: 'How long the process took to report.' }),
    failing: z
      .array(z.object({ check: z.string(), required: z.boolean(), detail: z.string() }))
      .meta({ description: 'Failed checks of this process.' }),
  })
  .meta({ id: 'ProcessHealth' });

const health = z
  .object({
    readAt: timestamp,
    problems: z
      .array(problem)
      .meta({ description: 'The most serious first. Empty: nothing is known to be broken.' }),
    processes: z.array(process),
    engines: z.array(z.object({ name: z.string(), ok: z.boolean(), seenBy: count })).meta({
      description: 'Engines, as the processes see them; `seenBy` counts the processes that checked it.',
    }),
    queues: z
      .object({
        outboxWaiting: count,
        outboxOldestSeconds: seconds,
        outboxParked: count,
        webhooksOldestSeconds: seconds,
      })
      .nullable(),
    money: z
      .object({
        isClean: z.boolean().nullable().meta({ description: 'Null before the first audit.' }),
        lastCleanSeconds: seconds.nullable(),
      })
      .nullable(),
    fleet: z
      .object({
        clusters: count,
        clustersSilent: count,
        nodes: count,
        nodesFaulty: count,
        storageNodes: count,
        storageNodesSilent: count,
        enginesDown: count,
      })
      .nullable(),
    loops: z
      .array(z.object({ loop: z.string(), items: count, failingSeconds: seconds }))
      .nullable()
      .meta({ description: 'Loops with failing items.' }),
    restore: z.enum(['normal', 'restored']).nullable().meta({
      description: 'Whether workers found that the database was restored; null if no worker reports it.',
    }),
    unread: z.array(z.string()).meta({
      description: 'Sections that could not be read in time; they are null above.',
    }),
  })
  .meta({ id: 'AdminHealth' });

export const adminHealthOperations = {
  adminGetHealth: adminOperation('GET /v2/admin/health', {
    scope: 'admin:read',
    summary: 'Read what is broken now, the effect on tenants, and the runbooks',
    description:
      'Answers within seconds while parts of the installation are down. Readings are at most five seconds old.',
    tags: ['overview'],
    response: { status: 200, schema: health },
  }),
} as const;
