import { describe, expect, it } from 'vitest';
import { ClockGuard, ClockSkewError, RemoteClock, SimulatedClock } from './index.ts';

const START_MS = Date.UTC(2026, 0, 1);

function setUp() {
  const local = new SimulatedClock(START_MS);
  const reference = new RemoteClock('database', local);
  const lines: string[] = [];
  const log = {
    error: (_fields: unknown, line: string) => void lines.push(`error: ${line}`),
    warn: (_fields: unknown, line: string) => void lines.push(`warn: ${line}`),
  } as unknown as ConstructorParameters<typeof ClockGuard>[0]['log'];
  const guard = new ClockGuard({ reference, name: 'database', log });
  /** A reading that takes `tookMs` from a reference that is `aheadMs` ahead of the start. */
  const read = async (aheadMs = 0, tookMs = 0): Promise<void> => {
    const sentMs = local.monotonicMs();
    await local.advance(tookMs);
    const receivedMs = local.monotonicMs();
    reference.take({ remoteMs: START_MS + aheadMs + receivedMs, sentMs, receivedMs });
  };
  return { local, guard, read, lines };
}

describe('ClockGuard', () => {
  it('reports no problem before the first reading', () => {
    expect(setUp().guard.problem()).toBeNull();
  });

  it('accepts a skew of exactly 2 s and refuses a larger one', async () => {
    const { local, guard, read } = setUp();
    await read();
    local.stepWallClock(2_000);
    expect(guard.problem()).toBeNull();
    local.stepWallClock(1);
    expect(guard.problem()).toMatch(/2\.0 s ahead of the clock of the database.*NTP/);
    expect(() => guard.require()).toThrow(ClockSkewError);
  });

  it.each([-86_400_000, -3_600_000, 2_400_000, 86_400_000, 40 * 86_400_000])(
    'refuses a clock that is wrong by %s ms at the first reading',
    async (wrongMs) => {
      const { local, guard, read } = setUp();
      local.stepWallClock(wrongMs);
      await read();
      expect(guard.problem()).toContain(wrongMs > 0 ? 'ahead of' : 'behind');
    },
  );

  it('detects a step of the wall clock without another reading', async () => {
    const { local, guard, read } = setUp();
    await read();
    expect(guard.problem()).toBeNull();
    local.stepWallClock(-3_600_000);
    expect(guard.problem()).toContain('3600.0 s behind');
  });

  it('detects that the clock of the database was set', async () => {
    const { guard, read } = setUp();
    await read();
    await read(86_400_000);
    expect(guard.problem()).toContain('behind the clock of the database');
  });

  it('does not mistake a slow response for a wrong clock', async () => {
    const { guard, read } = setUp();
    // The reference read its clock when the request arrived; the response took half a minute.
    await read(-30_000, 30_000);
    expect(guard.problem()).toBeNull();
  });

  it('resumes once the clock is right and logs each change once', async () => {
    const { local, guard, read, lines } = setUp();
    await read();
    local.stepWallClock(5_000);
    guard.problem();
    guard.problem();
    local.stepWallClock(-3_500);
    expect(guard.problem()).not.toBeNull();
    local.stepWallClock(-1_000);
    expect(guard.problem()).toBeNull();
    guard.problem();
    expect(lines.map((line) => line.slice(0, 5))).toEqual(['error', 'warn:']);
  });
});
