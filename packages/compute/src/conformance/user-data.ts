import { expect, it } from 'vitest';
import type { MachineRef } from '../driver.ts';
import { userDataLog } from '../user-data.ts';
import { expectFailure, type Suite } from './suite-context.ts';

/** Texts of unsupported kinds. */
const unknown = [
  'Content-Type: multipart/mixed; boundary="x"\n',
  '#include\nhttps://example.com/x\n',
  'echo hello\n',
  '',
];

export function describeUserData(stage: Suite): void {
  if (stage.harness.abilities.runUserData) describeUserDataStart(stage);
  else describeUserDataUnsupported(stage);
}

function describeUserDataUnsupported(stage: Suite): void {
  it('runUserData is unsupported on this engine', async () => {
    const call = stage.driver.runUserData(stage.unknownMachine(), '#!/bin/sh\n', stage.signal());
    await expectFailure(call, ['unsupported']);
  });
}

/** The lines that user data has written in this machine. */
async function readUserDataOutput(stage: Suite, machine: MachineRef): Promise<string[]> {
  const command = { argv: ['cat', userDataLog], timeoutMs: 10_000, maxBytes: 65_536 };
  const { stdout } = await stage.whileTimePasses(stage.driver.exec(machine, command, stage.signal()));
  return stdout.split('\n').filter((line) => line !== '');
}

function startOnce(stage: Suite, machine: MachineRef, text: string, driver = stage.driver): Promise<true> {
  return stage.until('user data to be started', stage.facts.bounds.bootMs, async () => {
    await driver.runUserData(machine, text, stage.signal());
    return true;
  });
}

function describeUserDataStart(stage: Suite): void {
  it('runUserData starts a program once as root, however often it is called, also after a reboot', async () => {
    const spec = await stage.make();
    const text = '#!/bin/sh\nid -u\n';
    await startOnce(stage, spec, text);
    await Promise.all([startOnce(stage, spec, text), startOnce(stage, spec, text, stage.other)]);
    await stage.until('output of the program', stage.facts.bounds.callMs, async () => {
      return (await readUserDataOutput(stage, spec)).length > 0;
    });
    await stage.driver.reboot(spec, { graceMs: 1_000 }, stage.signal());
    await startOnce(stage, spec, text, stage.other);
    const lines = await readUserDataOutput(stage, spec);
    expect(lines).toHaveLength(1);
    if (stage.harness.runsPrograms === true) expect(lines).toEqual(['0']);
    // Another text is another program.
    await startOnce(stage, spec, '#!/bin/sh\necho a "quoted" $0 word; # and more\n');
    await stage.until('output of the second program', stage.facts.bounds.callMs, async () => {
      return (await readUserDataOutput(stage, spec)).length === 2;
    });
  });

  it('runUserData resolves when the program has started and does not wait for its end', async () => {
    const spec = await stage.make();
    await startOnce(stage, spec, '#!/bin/sh\necho begun\nsleep 600\necho ended\n');
    await stage.until('its first output', stage.facts.bounds.callMs, async () => {
      return (await readUserDataOutput(stage, spec)).length === 1;
    });
  });

  it('runUserData refuses unsupported texts and leaves nothing of them in the machine', async () => {
    const spec = await stage.make();
    await startOnce(stage, spec, '#!/bin/sh\necho up\n');
    await stage.until('a booted machine', stage.facts.bounds.callMs, async () => {
      return (await readUserDataOutput(stage, spec)).length === 1;
    });
    for (const text of unknown) {
      const call = stage.driver.runUserData(spec, text, stage.signal());
      await expectFailure(call, ['unsupported'], JSON.stringify(text));
    }
    const hostile = ['#!/bin/sh\n\0', `#!/bin/sh\n${'a'.repeat(65_536)}`, '#!/bin/sh\n\ud800'];
    for (const text of hostile) {
      const call = stage.driver.runUserData(spec, text, stage.signal());
      await expectFailure(call, ['refused'], JSON.stringify(text.slice(0, 20)));
    }
    expect(await readUserDataOutput(stage, spec)).toHaveLength(1);
  });

  it('runUserData of a machine that is off is unavailable, and works after a start', async () => {
    const spec = await stage.make();
    await stage.driver.stop(spec, { graceMs: 0 }, stage.signal());
    const text = '#!/bin/sh\necho here\n';
    await expectFailure(stage.driver.runUserData(spec, text, stage.signal()), ['unavailable']);
    await stage.driver.start(spec, stage.signal());
    await startOnce(stage, spec, text);
    await stage.until('output of the program', stage.facts.bounds.callMs, async () => {
      return (await readUserDataOutput(stage, spec)).length === 1;
    });
  });

  if (stage.harness.hasCloudInit ?? true) describeCloudInit(stage);
  else describeNoCloudInit(stage);
}

const cloudConfig = '#cloud-config\nruncmd: [[id]]\n';

function describeCloudInit(stage: Suite): void {
  it('runUserData passes a cloud-config to cloud-init, once', async () => {
    const spec = await stage.make();
    await startOnce(stage, spec, cloudConfig);
    await startOnce(stage, spec, cloudConfig, stage.other);
    await stage.until('output of cloud-init', stage.facts.bounds.callMs, async () => {
      return (await readUserDataOutput(stage, spec)).length > 0;
    });
  });
}

function describeNoCloudInit(stage: Suite): void {
  it('runUserData refuses a cloud-config without cloud-init and leaves nothing of it in the machine', async () => {
    const spec = await stage.make();
    const call = stage.driver.runUserData(spec, cloudConfig, stage.signal());
    await expectFailure(call, ['unsupported']);
    expect(await readUserDataOutput(stage, spec)).toEqual([]);
  });
}
