import { systemClock } from '@millrace/platform/clock';
import { expect, test, vi } from 'vitest';
import { DriverError, isDriverError } from '../driver-error.ts';
import type { ComputeDriver } from '../driver.ts';
import { retryingDriver } from './retry.ts';

const machine = { externalId: 'x', orgId: 'org' } as unknown as Parameters<ComputeDriver['terminate']>[0];
const lost = new DriverError('unavailable', 'lost');
const isLost = (error: unknown): boolean => isDriverError(error, 'unavailable');

function driverThat(terminate: ComputeDriver['terminate']): ComputeDriver {
  const driver = { terminate } as Partial<ComputeDriver> as ComputeDriver;
  return retryingDriver(driver, isLost, () => AbortSignal.timeout(60_000));
}

function immediately(): void {
  vi.spyOn(systemClock, 'sleep').mockResolvedValue();
}

test('retryingDriver repeats a lost call a limited number of times', async () => {
  immediately();
  const twice = vi.fn<ComputeDriver['terminate']>().mockRejectedValueOnce(lost).mockResolvedValue();
  await driverThat(twice).terminate(machine, AbortSignal.timeout(60_000));
  expect(twice).toHaveBeenCalledTimes(2);
  const never = vi.fn<ComputeDriver['terminate']>().mockRejectedValue(lost);
  await expect(driverThat(never).terminate(machine, AbortSignal.timeout(60_000))).rejects.toBe(lost);
  expect(never).toHaveBeenCalledTimes(5);
  vi.restoreAllMocks();
});

test('retryingDriver does not repeat a call after a failure that no stall explains', async () => {
  const refused = new DriverError('refused', 'no');
  const call = vi.fn<ComputeDriver['terminate']>().mockRejectedValue(refused);
  await expect(driverThat(call).terminate(machine, AbortSignal.timeout(60_000))).rejects.toBe(refused);
  expect(call).toHaveBeenCalledTimes(1);
});

test('retryingDriver does not repeat an aborted call, and renews an expired deadline', async () => {
  immediately();
  const call = vi.fn<ComputeDriver['terminate']>().mockRejectedValue(lost);
  await expect(driverThat(call).terminate(machine, AbortSignal.abort())).rejects.toBe(lost);
  expect(call).toHaveBeenCalledTimes(1);
  const late = new AbortController();
  const seen: boolean[] = [];
  const slow = driverThat(async (_machine, signal) => {
    seen.push(signal.aborted);
    late.abort(new DOMException('late', 'TimeoutError'));
    if (seen.length === 1) throw lost;
  });
  await slow.terminate(machine, late.signal);
  expect(seen).toEqual([false, false]);
  vi.restoreAllMocks();
});
