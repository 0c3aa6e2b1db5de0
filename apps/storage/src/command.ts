import { execFile } from 'node:child_process';
import { DriverError } from '@millrace/compute';

/** Fixed, so that the caller's environment does not change which programs run. */
export const systemEnv = {
  PATH: '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin',
  LC_ALL: 'C',
};

const maxOutputBytes = 4 * 1_048_576;

/** Runs a program without a shell and returns its output. */
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
