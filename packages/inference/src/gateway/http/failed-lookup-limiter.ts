import type { Timer } from '@millrace/platform/clock';
import { rateLimitFault } from '@millrace/platform/http/rate-headers';
import { ratio } from '@millrace/platform/money';

/**
 * Limits look-ups that find no key per address block, because an invented key with a valid checksum would cost a NATS read each.
 * In-process, so that a refusal costs nothing; look-ups that find their key are free.
 */
export interface FailedLookupLimiter {
  /** Runs the look-up within the block's budget; rejects with `RATE_LIMITED` if it is used up. */
  run<Found>(block: string, lookUp: () => Promise<Found | null>): Promise<Found | null>;
}

export interface FailedLookupLimiterOptions {
  readonly clock: Pick<Timer, 'monotonicMs'>;
  /** Failed look-ups allowed per minute and block. */
  readonly failedPerMinute: number;
}

interface BlockState {
  /** Remaining budget without look-ups in flight. */
  left: number;
  refilledMs: number;
  underWay: number;
  readonly waiting: (() => void)[];
}

const minuteMs = 60_000;
const maxBlocks = 20_000;
/** Per block: valid keys that arrive together, as after a restart, wait for each other. */
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
   * Evicts the oldest unused block. Blocks in use stay, because requests wait on them; there are at most as many as open
   * requests.
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
        // Look-ups in flight can return their share.
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
        // Resume one waiter per free share; if no share can become free, resume all so that they are refused.
        if (block.left >= 1) block.waiting.shift()?.();
        else if (block.underWay === 0) for (const resume of block.waiting.splice(0)) resume();
      }
    },
  };
}
