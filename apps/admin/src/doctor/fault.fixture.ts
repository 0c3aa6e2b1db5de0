import { systemClock } from '@millrace/platform/clock';
import type { Effects, HttpResponse } from './check.ts';
import { testEffects, type TestInstallation } from './doctor.fixture.ts';

export type Undo = () => unknown;

/** One fault of an installation, and the findings that it must give. */
export interface Fault {
  readonly title: string;
  /** As `id@component`; `FOLDER` stands for the folder of the installation. */
  readonly expected: readonly string[];
  readonly make?: (installation: TestInstallation) => Undo | Promise<Undo>;
  /** For faults that nothing on this machine can produce. */
  readonly inject?: (installation: TestInstallation) => Partial<Effects>;
}

/** Replaces text in a file of the installation. */
export const edit =
  (file: string, from: string | RegExp, to: string) =>
  (installation: TestInstallation): Undo => {
    const before = installation.read(file);
    const after = before.replace(from, to);
    if (after === before) throw new Error(`${file} has no ${String(from)}.`);
    installation.write(file, after);
    return () => installation.write(file, before);
  };

export const append = (file: string, text: string) => edit(file, /$/, `${text}\n`);

const DAY_MS = 86_400_000;
export const inDays = (days: number): Date => new Date(systemClock.nowMs() + days * DAY_MS);

/** Changes the JSON of the answers to some requests. */
export const changeJson = (path: string, change: (body: never) => unknown) => (): Partial<Effects> => ({
  request: async (request): Promise<HttpResponse> => {
    const response = await testEffects.request(request);
    if (!request.url.includes(path)) return response;
    return { ...response, body: JSON.stringify(change(JSON.parse(response.body) as never)) };
  },
});
