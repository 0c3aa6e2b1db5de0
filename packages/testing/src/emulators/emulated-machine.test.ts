import { expect, test } from 'vitest';
import { EmulatedMachine, type WrittenDisk } from './emulated-machine.ts';
import { handleManager, handleSystem } from './redfish.ts';

const nothing = { hostname: null, sshKeys: [], userData: null, networkData: null, hostKey: null };
const disk: WrittenDisk = { image: Buffer.from('an image'), config: nothing };

function machineThatCounts(): { machine: EmulatedMachine; running: () => number } {
  let running = 0;
  const place = { index: 3, address: '127.64.0.1', farmUrl: 'http://127.0.0.1:1' };
  const machine = new EmulatedMachine(place, async () => {
    running += 1;
    return {
      [Symbol.asyncDispose]: async () => {
        running -= 1;
      },
    };
  });
  return { machine, running: () => running };
}

const reset = (machine: EmulatedMachine, ResetType: string) =>
  handleSystem(machine, { method: 'POST', path: 'Actions/ComputerSystem.Reset', body: { ResetType } });

test('a machine runs its disk once while it has power', async () => {
  const { machine, running } = machineThatCounts();
  await reset(machine, 'On');
  expect([machine.power, running()]).toEqual(['On', 0]);
  machine.disk = disk;
  await reset(machine, 'ForceRestart');
  await reset(machine, 'On');
  expect(running()).toBe(1);
  await reset(machine, 'GracefulShutdown');
  expect([machine.power, running()]).toEqual(['Off', 0]);
});

test('a boot override for one boot is followed by a boot from the disk', async () => {
  const { machine, running } = machineThatCounts();
  machine.disk = disk;
  const Boot = { BootSourceOverrideEnabled: 'Once', BootSourceOverrideTarget: 'Cd' };
  await handleSystem(machine, { method: 'PATCH', path: '', body: { Boot } });
  await reset(machine, 'On');
  // The CD drive is empty.
  expect(running()).toBe(0);
  await reset(machine, 'ForceRestart');
  expect(running()).toBe(1);
  await machine.powerOff();
});

test('a stuck power switch ignores requests until it is repaired', async () => {
  const { machine } = machineThatCounts();
  machine.break({ isPowerStuck: true });
  expect((await reset(machine, 'On')).status).toBe(204);
  expect(machine.power).toBe('Off');
  machine.heal();
  await reset(machine, 'On');
  expect(machine.power).toBe('On');
});

test('machines differ in every property that identifies them to an engine', () => {
  const place = { farmUrl: 'http://127.0.0.1:1' };
  const machines = [1, 2].map(
    (index) =>
      new EmulatedMachine({ ...place, index, address: `127.64.0.${index}` }, async () => {
        throw new Error('nothing boots here');
      }),
  );
  for (const mark of ['uuid', 'mac', 'address', 'id', 'username'] as const) {
    expect(new Set(machines.map((machine) => machine[mark])).size).toBe(2);
  }
  for (const { mac } of machines) expect(mac).toMatch(/^02(:[0-9a-f]{2}){5}$/);
});

test('the BMC responds 404 to unknown resources and 400 to unknown reset types', async () => {
  const { machine } = machineThatCounts();
  const call = { method: 'GET', path: 'Bios', body: {} };
  expect(await handleSystem(machine, call)).toMatchObject({ status: 404 });
  expect(await handleManager(machine, call)).toMatchObject({ status: 404 });
  expect(await reset(machine, 'Explode')).toMatchObject({ status: 400 });
});
