import type { DeploymentEntry } from '@millrace/core/inference';
import { withDeadline, type Clock } from '@millrace/platform/clock';
import type { Logger } from '@millrace/platform/log';
import type { ValkeyClient } from '@millrace/platform/valkey';
import { asCount, asObject, parseJson } from '../../adapters/text/engine-json.ts';
import { createProber, type Prober } from '../../routing/index.ts';
import { claimSlot, engineSlotsKey, releaseSlot } from './engine-slot-scripts.ts';

/**
 * Slots of llama.cpp, whose prompt cache has no salt: each request names its slot, and only the organisation whose prompt is in
 * it reuses the slot. Gateways share the owners through Valkey; after a loss of its data nothing is reused until slots are used
 * again.
 */
export interface EngineSlots {
  claim(deployment: DeploymentEntry, claimant: SlotClaimant): Promise<SlotClaim>;
  close(): void;
}

export interface SlotClaimant {
  readonly orgId: string;
  /** Prompts with equal prefixes go to the same slot. */
  readonly prefix: string;
  /** The engine computes several choices, in slots of its choice. */
  readonly fillsFurtherSlots: boolean;
}

export interface SlotClaim {
  readonly id: number;
  /** The slot contains a prompt of the same organisation. */
  readonly reuse: boolean;
  /** Ends the claim. The prompt is in the slot only if the engine responded. Never throws. */
  release(hasAnswered: boolean): void;
}

export interface EngineSlotsOptions {
  readonly valkey: Pick<ValkeyClient, 'run'>;
  readonly clock: Clock;
  readonly log: Pick<Logger, 'warn'>;
  readonly longestRequestMs: number;
  readonly prober?: Prober;
}

const propsTimeoutMs = 3_000;
/** A restarted engine can have another number of slots. */
const slotCountTtlMs = 30_000;

export function createEngineSlots(options: EngineSlotsOptions): EngineSlots {
  const { valkey, clock, log, longestRequestMs } = options;
  const prober = options.prober ?? createProber();
  const counts = new Map<string, { readonly count: Promise<number>; readonly sentMs: number }>();

  async function readSlotCount(deployment: DeploymentEntry): Promise<number> {
    const { text } = await withDeadline(
      clock,
      `Reading the slots of ${deployment.id}`,
      propsTimeoutMs,
      (signal) => prober.probe(deployment, '/props', signal),
    );
    const count = asCount(asObject(parseJson(text))?.['total_slots']);
    if (count === null || count === 0)
      throw new Error(`${deployment.id} does not report its slots at /props.`);
    return count;
  }

  function slotCountOf(deployment: DeploymentEntry): Promise<number> {
    const nowMs = clock.monotonicMs();
    const known = counts.get(deployment.address);
    if (known !== undefined && nowMs - known.sentMs < slotCountTtlMs) return known.count;
    const count = readSlotCount(deployment);
    counts.set(deployment.address, { count, sentMs: nowMs });
    count.catch(() => counts.delete(deployment.address));
    return count;
  }

  return {
    async claim(deployment, { orgId, prefix, fillsFurtherSlots }) {
      const slots = await slotCountOf(deployment);
      const keys = [engineSlotsKey(deployment.address)];
      const further = fillsFurtherSlots ? '1' : '0';
      const response = await valkey.run(claimSlot, {
        keys,
        args: [orgId, prefix, String(slots), String(longestRequestMs), further],
      });
      const [id, reuse, claim] = Array.isArray(response) ? (response as unknown[]).map(Number) : [];
      if (id === undefined || claim === undefined) throw new Error('Valkey returned no slot.');
      return {
        id,
        reuse: reuse === 1,
        release(hasAnswered) {
          const args = [String(id), further, orgId, prefix, String(claim), hasAnswered ? '1' : '0'];
          valkey.run(releaseSlot, { keys, args }).catch((error: unknown) => {
            // The slot counts as busy until its lease expires; no prompt is shared by that.
            log.warn(
              { err: error, deployment: deployment.id },
              'could not release an engine slot; it expires later',
            );
          });
        },
      };
    },
    close: () => prober.close(),
  };
}
