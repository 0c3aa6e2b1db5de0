import { DriverError, type ComputeDriver } from '@millrace/compute';
import { systemClock } from '@millrace/platform/clock';
import { connectTestNats, testNames } from '@millrace/testing';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { CONSOLE_MAX_BYTES } from './console-text.ts';
import {
  createConsoleRequester,
  consoleSubject,
  deleteOldConsoles,
  refreshConsole,
  serveConsoles,
  getConsole,
  type RequestConsoleRead,
  type ConsoleDeps,
} from './console.service.ts';
import { insertRunningRental } from './idleness.fixture.ts';
import {
  createRentalHarness,
  DAY_MS,
  quiet,
  type RentalHarness,
  type Tenant,
} from '../model/rental.fixture.ts';
import type { Rental } from '../model/rental.ts';

let harness: RentalHarness;
let tenant: Tenant;
let rental: Rental;
beforeEach(async () => {
  harness = await createRentalHarness({ portListeners: false });
  tenant = await harness.tenant();
  rental = await insertRunningRental(harness, tenant);
});
afterEach(() => harness.drop());

/** An engine that returns each output only once. */
class OnceConsole {
  #written = '';
  reads = 0;
  fails: DriverError | null = null;

  write(text: string): void {
    this.#written += text;
  }

  async read(): Promise<string> {
    this.reads += 1;
    if (this.fails !== null) throw this.fails;
    const text = this.#written;
    this.#written = '';
    await systemClock.sleep(20);
    return text;
  }
}

function depsOf(engine: OnceConsole): ConsoleDeps {
  const consoleLog = (): Promise<string> => engine.read();
  const drivers: ConsoleDeps['drivers'] = async (clusterId) =>
    new Proxy(await harness.drivers(clusterId), {
      get: (target, name): unknown =>
        name === 'consoleLog' ? consoleLog : Reflect.get(target, name, target),
    }) satisfies ComputeDriver;
  return { db: harness.db, clock: systemClock, drivers };
}

async function later(): Promise<void> {
  await harness.clock.advance(2_000);
}

const show = (
  request: RequestConsoleRead,
  maxBytes = 65_536,
  orgId = tenant.orgId,
  mode: 'live' | 'test' = 'live',
) =>
  getConsole(harness.db, request, { orgId, mode, wireId: rental.wireId, maxBytes, now: harness.clock.now() });

const requestHere =
  (deps: ConsoleDeps): RequestConsoleRead =>
  ({ orgId, id }) =>
    refreshConsole(deps, orgId, id);

describe('console', () => {
  it('is shown again to a second reader although the engine returns it once', async () => {
    const engine = new OnceConsole();
    const request = requestHere(depsOf(engine));
    engine.write('booting\r\n\u001B[32mready\u001B[0m\r\n');
    expect(await show(request)).toEqual({
      output: 'booting\nready\n',
      isCut: false,
      readAt: harness.clock.now(),
    });
    await later();
    engine.write('login: ');
    expect(await show(request)).toMatchObject({ output: 'booting\nready\nlogin: ' });
    await later();
    expect(await show(request, 7)).toMatchObject({ output: 'login: ', isCut: true });
  });

  it('is read by one of several concurrent requests and shown to all', async () => {
    const engine = new OnceConsole();
    const deps = depsOf(engine);
    engine.write('hello\n');
    const shown = await Promise.all(Array.from({ length: 8 }, () => show(requestHere(deps))));
    expect(shown.map(({ output }) => output)).toEqual(Array(8).fill('hello\n'));
    expect(engine.reads).toBe(1);
  });

  it('is stored up to the newest mebibyte', async () => {
    const engine = new OnceConsole();
    const request = requestHere(depsOf(engine));
    engine.write('old\n'.repeat(200_000));
    await show(request);
    await later();
    engine.write('new\n'.repeat(200_000));
    const { output, isCut } = await show(request, 2 * CONSOLE_MAX_BYTES);
    expect(Buffer.byteLength(output)).toBeLessThanOrEqual(CONSOLE_MAX_BYTES);
    expect(output.endsWith('new\n')).toBe(true);
    expect(isCut).toBe(true);
  });

  it('of an unreachable engine is the stored output, or 503 with a retry time if there is none', async () => {
    const engine = new OnceConsole();
    const request = requestHere(depsOf(engine));
    engine.fails = new DriverError('unavailable', 'The engine is unreachable.');
    await expect(show(request)).rejects.toMatchObject({
      reason: 'SERVICE_UNAVAILABLE',
      retryAfterSeconds: 5,
    });
    engine.fails = null;
    engine.write('hello\n');
    const { readAt } = await show(request);
    await later();
    engine.fails = new DriverError('unavailable', 'The engine is unreachable.');
    expect(await show(request)).toEqual({ output: 'hello\n', isCut: false, readAt });
  });

  it('of an engine without consoles returns CONSOLE_NOT_SUPPORTED', async () => {
    const engine = new OnceConsole();
    engine.fails = new DriverError('unsupported', 'The engine has no consoles.');
    await expect(show(requestHere(depsOf(engine)))).rejects.toMatchObject({
      reason: 'CONSOLE_NOT_SUPPORTED',
    });
  });

  it('of a machine that does not exist yet is empty', async () => {
    const engine = new OnceConsole();
    engine.fails = new DriverError('not_found', 'No such machine.');
    expect(await show(requestHere(depsOf(engine)))).toMatchObject({ output: '', isCut: false });
  });

  it('can be read after a reader crashed', async () => {
    const engine = new OnceConsole();
    engine.write('hello\n');
    await harness.rows(`insert into rental_consoles (rental_id, attempt, position, org_id, mode, reading_until)
      select id, 1, 1, org_id, mode, now() from rentals`);
    await harness.clock.advance(365 * DAY_MS);
    expect(await show(requestHere(depsOf(engine)))).toMatchObject({ output: 'hello\n' });
  });

  it('returns 404 to other organisations and to keys of the other mode', async () => {
    const other = await harness.tenant();
    const request = requestHere(depsOf(new OnceConsole()));
    await expect(show(request, 1, other.orgId)).rejects.toMatchObject({ reason: 'RENTAL_NOT_FOUND' });
    await expect(show(request, 1, tenant.orgId, 'test')).rejects.toMatchObject({
      reason: 'RENTAL_NOT_FOUND',
    });
  });

  it('is deleted a week after its rental has ended, and not before', async () => {
    await show(requestHere(depsOf(new OnceConsole())));
    await harness.clock.advance(30 * DAY_MS);
    expect(await deleteOldConsoles(harness.db)).toBe(0);
    await harness.rows(
      `update rentals set status = 'Terminated', ended_at = created_at, next_action_at = null, deadline_at = null`,
    );
    expect(await deleteOldConsoles(harness.db)).toBe(1);
  });

  it('is requested over NATS, and fails with 503 if no worker responds', async () => {
    const nats = await connectTestNats();
    const subject = consoleSubject(testNames().natsPrefix, 1);
    const engine = new OnceConsole();
    engine.write('over there\n');
    const request = createConsoleRequester(nats, { subject, cell: 1 });
    await expect(show(request)).rejects.toMatchObject({ reason: 'SERVICE_UNAVAILABLE' });
    const server = serveConsoles({ ...depsOf(engine), nats, subject, log: quiet });
    // A reply after the subscription shows that the server has registered it.
    await nats.ping();
    expect(await show(request)).toMatchObject({ output: 'over there\n' });
    await server.stop();
    await nats.close();
  });
});
