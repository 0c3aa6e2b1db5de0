import type { Timer } from '@millrace/platform/clock';
import { rateLimitFault } from '@millrace/platform/http/rate-headers';
import { ratio } from '@millrace/platform/money';

/**
 * Bounds the look-ups in the gateway book that find no key, by address block: a made-up key with a right checksum would
 * otherwise cost a read of NATS each. Kept in this process, so that a refused look-up costs nothing. Look-ups that find
 * their key are free, however many come from one address.
 */
export interface FailedLookupLimiter {
  /** Runs the look-up when the block may make one; rejects with `RATE_LIMITED` when its budget is used up. */
  run<Found>(block: string, lookUp: () => Promise<Found | null>): Promise<Found | null>;
}

export interface FailedLookupLimiterOptions {
  readonly clock: Pick<Timer, 'monotonicMs'>;
  /** Look-ups a minute from one block that may find nothing. */
  readonly failedPerMinute: number;
}

interface BlockState {
  /** Look-ups that may still fail, those under way excluded. */
  left: number;
  refilledMs: number;
  underWay: number;
  readonly waiting: (() => void)[];
}

const minuteMs = 60_000;
const maxBlocks = 20_000;
/** Of one block: real keys that come at once, as after a restart, wait for each other. */
const maxWaiting = 1_000;

export function createFailedLookupLimiter(options: FailedLookupLimiterOptions): FailedLookupLimiter {
  const { clock, failedPerMinute } = options;
  const blocks = new Map<string, BlockState>();

  function blockOf(name: string): BlockState {
    const nowMs = clock.monotonicMs();
    let block = blocks.get(name);
    if (block === undefined) {
      block = { left: failedPerMinute, refilledMs: nowMs, underWay: 0, waiting: [] };
      evictOldestBlock();
      blocks.set(name, block);
      return block;
    }
    const refilled = failedPerMinute * ratio(nowMs - block.refilledMs, minuteMs);
    block.left = Math.min(failedPerMinute - block.underWay, block.left + refilled);
    block.refilledMs = nowMs;
    return block;
  }

  /**
   * The block known longest goes: an attacker needs as many addresses as are kept to be forgotten. A block in use stays, since requests
   * wait on it; there are no more of those than open requests.
   */
  function evictOldestBlock(): void {
    if (blocks.size < maxBlocks) return;
    for (const [name, { underWay, waiting }] of blocks) {
      if (underWay > 0 || waiting.length > 0) continue;
      blocks.delete(name);
      return;
    }
  }

  function refuse(name: string, { left }: BlockState): never {
    const retryAfterMs = Math.ceil((1 - Math.min(1, left)) * ratio(minuteMs, failedPerMinute));
    const limit = failedPerMinute;
    const policy = {
      name: 'failed-authentication',
      scope: 'ip',
      subject: name,
      limit,
      windowMs: minuteMs,
    } as const;
    throw rateLimitFault({ policy, limit, remaining: 0, resetMs: minuteMs, retryAfterMs });
  }

  return {
    async run(name, lookUp) {
      let block = blockOf(name);
      while (block.left < 1) {
        // Look-ups under way may give their share back.
        if (block.underWay === 0 || block.waiting.length >= maxWaiting) refuse(name, block);
        const { waiting } = block;
        await new Promise<void>((resolve) => void waiting.push(resolve));
        block = blockOf(name);
      }
      block.left -= 1;
      block.underWay += 1;
      let isFree = true;
      try {
        const found = await lookUp();
        isFree = found !== null;
        return found;
      } finally {
        block.underWay -= 1;
        if (isFree) block.left += 1;
        // One waits for each share that is free; when none can become free, all of them are refused.
        if (block.left >= 1) block.waiting.shift()?.();
        else if (block.underWay === 0) for (const resume of block.waiting.splice(0)) resume();
      }
    },
  };
}
