import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { runAdmin } from '../../../apps/admin/src/app.ts';
import type { UpgradeStep } from '../../../apps/admin/src/upgrade/plan.ts';
import { createUpgradeCommand } from '../../../apps/admin/src/upgrade/upgrade.command.ts';
import type { InferenceStack } from '../../stack/inference-stack.ts';

/** `millrace-admin upgrade` of this release on two machines, each with a gateway whose health port only that machine reaches. */
export interface UpgradeCommand extends Disposable {
  /** The report of the machine that has more left to do. Throws if the command fails, which includes a blocked step. */
  run(...words: readonly string[]): Promise<UpgradeReport>;
}

export interface UpgradeReport {
  /** The name of the installed release. */
  readonly release: string;
  readonly steps: readonly UpgradeStep[];
}

/** The findings of `doctor` are a double, because this machine is not an installation. All other facts are real. */
export function createUpgradeRunner(stack: InferenceStack): UpgradeCommand {
  const folders = stack.gateways.map((gateway) => writeSettings(stack, gateway.env()));
  const command = createUpgradeCommand(async () => []);
  const runOn = async (folder: string, words: readonly string[]): Promise<UpgradeReport> => {
    let [out, err] = ['', ''];
    const io = { out: (text: string) => void (out += text), err: (text: string) => void (err += text) };
    const args = ['upgrade', '--folder', folder, '--json', ...words];
    const code = await runAdmin(args, io, stack.workers[0]?.env() ?? {}, [command]);
    if (code !== 0) throw new Error(`millrace-admin ${args.join(' ')} returned ${code}: ${out} ${err}`);
    return JSON.parse(out) as UpgradeReport;
  };
  const doneIn = ({ steps }: UpgradeReport): number => steps.filter(({ state }) => state === 'done').length;
  return {
    async run(...words) {
      const reports: UpgradeReport[] = [];
      for (const folder of folders) reports.push(await runOn(folder, words));
      const [least] = reports.toSorted((one, other) => doneIn(one) - doneIn(other));
      if (least === undefined) throw new Error('The stack has no gateway.');
      return least;
    },
    [Symbol.dispose]() {
      for (const folder of folders) rmSync(folder, { recursive: true, force: true });
    },
  };
}

function writeSettings(stack: InferenceStack, gateway: Readonly<Record<string, string>>): string {
  const folder = mkdtempSync(path.join(tmpdir(), 'mr-upgrade-'));
  const settings = {
    'millrace.env': {},
    'api.env': stack.apis[0]?.env() ?? {},
    'worker.env': stack.workers[0]?.env() ?? {},
    'gateway.env': gateway,
    'admin.env': stack.workers[0]?.env() ?? {},
  };
  for (const [file, variables] of Object.entries(settings)) {
    const lines = Object.entries(variables).map(([name, value]) => `${name}='${value}'\n`);
    writeFileSync(path.join(folder, file), lines.join(''), { mode: 0o600 });
  }
  return folder;
}
