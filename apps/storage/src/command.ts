import { execFile } from 'node:child_process';
import { DriverError } from '@millrace/compute';

/** What the programs of the system are found in, whoever started us. */
export const systemEnv = {
  PATH: '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin',
  LC_ALL: 'C',
};

const maxOutputBytes = 4 * 1_048_576;

/** Runs a program of the system to its end and answers what it printed. No shell reads its arguments. */
export function runCommand(file: string, args: readonly string[], timeoutMs: number): Promise<string> {
  return new Promise((resolve, reject) => {
    const options = {
      env: systemEnv,
      cwd: '/',
      timeout: timeoutMs,
      killSignal: 'SIGKILL',
      maxBuffer: maxOutputBytes,
    } as const;
    execFile(file, [...args], options, (error, stdout, stderr) => {
      if (error === null) {
        resolve(stdout);
        return;
      }
      const reason = stderr.trim() === '' ? error.message : stderr.trim();
      reject(new DriverError('failed', `${file} failed: ${reason}`, { cause: error }));
    });
  });
}
