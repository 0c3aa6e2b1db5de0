import type { DeploymentEntry } from '@millrace/core/inference';
import { withDeadline, type Clock } from '@millrace/platform/clock';
import type { Logger } from '@millrace/platform/log';
import type { ValkeyClient } from '@millrace/platform/valkey';
import { asCount, asObject, parseJson } from '../../adapters/text/engine-json.ts';
import { createProber, type Prober } from '../../routing/index.ts';
import { claimSlot, releaseSlot } from './engine-slot-scripts.ts';

/**
 * Slots of llama.cpp, whose prompt cache has no salt: every request names its slot, and only the organisation whose prompt
 * is in a slot reuses it. All gateways agree on the owners through Valkey. An empty Valkey knows no owner, so nothing is
 * reused until organisations have used their slots again.
 */
export interface EngineSlots {
  claim(deployment: DeploymentEntry, claimant: SlotClaimant): Promise<SlotClaim>;
  close(): void;
}

export interface SlotClaimant {
  readonly orgId: string;
  /** Prompts that begin alike go to the same slot. */
  readonly prefix: string;
  /** The engine computes several choices, in slots of its own choosing. */
  readonly fillsFurtherSlots: boolean;
}

export interface SlotClaim {
  readonly id: number;
  /** The prompt in the slot is the same organisation's. */
  readonly reuse: boolean;
  /** The request is over. Its prompt is in the slot if the engine has answered it. Never throws. */
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
/** An engine that was started again may have another number of slots. */
const slotCountTtlMs = 30_000;

export function createEngineSlots(options: EngineSlotsOptions): EngineSlots {
  const { valkey, clock, log, longestRequestMs } = options;
  const prober = options.prober ?? createProber();
  const counts = new Map<string, { readonly count: Promise<number>; readonly sentMs: number }>();

  async function readSlotCount(deployment: DeploymentEntry): Promise<number> {
    const { text } = await withDeadline(
      clock,
      `Asking ${deployment.id} for its slots`,
      propsTimeoutMs,
      (signal) => prober.probe(deployment, '/props', signal),
    );
    const count = asCount(asObject(parseJson(text))?.['total_slots']);
    if (count === null || count === 0) throw new Error(`${deployment.id} does not tell its slots at /props.`);
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
      const keys = [`engine-slots:{${deployment.address}}`];
      const further = fillsFurtherSlots ? '1' : '0';
      const response = await valkey.run(claimSlot, {
        keys,
        args: [orgId, prefix, String(slots), String(longestRequestMs), further],
      });
      const [id, reuse, claim] = Array.isArray(response) ? (response as unknown[]).map(Number) : [];
      if (id === undefined || claim === undefined) throw new Error('Valkey answered no slot.');
      return {
        id,
        reuse: reuse === 1,
        release(hasAnswered) {
          const args = [String(id), further, orgId, prefix, String(claim), hasAnswered ? '1' : '0'];
          valkey.run(releaseSlot, { keys, args }).catch((error: unknown) => {
            // The slot counts as busy until its lease ends; no prompt is shared by that.
            log.warn({ err: error, deployment: deployment.id }, 'an engine slot could not be released');
          });
        },
      };
    },
    close: () => prober.close(),
  };
}
