import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { runAdmin } from '../../../apps/admin/src/app.ts';
import type { UpgradeStep } from '../../../apps/admin/src/upgrade/plan.ts';
import { createUpgradeCommand } from '../../../apps/admin/src/upgrade/upgrade.command.ts';
import type { InferenceStack } from '../../stack/inference-stack.ts';

/** `millrace-admin upgrade` of this release on the first of two machines. */
export interface UpgradeCommand extends Disposable {
  /** Throws if the command fails, which includes a blocked step. */
  run(...words: readonly string[]): Promise<UpgradeReport>;
}

export interface UpgradeReport {
  /** The name of the installed release. */
  readonly release: string;
  readonly steps: readonly UpgradeStep[];
}

/** The findings of `doctor` are a double, because this machine is not an installation. All other facts are real. */
export function createUpgradeRunner(stack: InferenceStack, otherMachine: string): UpgradeCommand {
  const folder = mkdtempSync(path.join(tmpdir(), 'mr-upgrade-'));
  const settings = {
    'millrace.env': {},
    'api.env': stack.apis[0]?.env() ?? {},
    'worker.env': stack.workers[0]?.env() ?? {},
    'gateway.env': stack.gateways[0]?.env() ?? {},
    'admin.env': stack.workers[0]?.env() ?? {},
  };
  for (const [file, variables] of Object.entries(settings)) {
    const lines = Object.entries(variables).map(([name, value]) => `${name}='${value}'\n`);
    writeFileSync(path.join(folder, file), lines.join(''), { mode: 0o600 });
  }
  const command = createUpgradeCommand(async () => []);
  return {
    run: async (...words) => {
      let [out, err] = ['', ''];
      const io = { out: (text: string) => void (out += text), err: (text: string) => void (err += text) };
      const args = ['upgrade', '--folder', folder, '--machines', otherMachine, '--json', ...words];
      const code = await runAdmin(args, io, settings['admin.env'], [command]);
      if (code !== 0) throw new Error(`millrace-admin ${args.join(' ')} returned ${code}: ${out} ${err}`);
      return JSON.parse(out) as UpgradeReport;
    },
    [Symbol.dispose]: () => rmSync(folder, { recursive: true, force: true }),
  };
}
