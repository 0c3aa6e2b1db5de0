import { AsyncLocalStorage } from 'node:async_hooks';
import { isUnavailable } from '../db/index.ts';

/**
 * The last error of each request that says that the database was unavailable. The library replaces such errors with responses of
 * its own, for example 500, 422 at sign-up, or 401 where it could not read the session.
 */
const failures = new AsyncLocalStorage<{ last: Error | null }>();

/** Called with every error of the database, and of the library. Outside a request it does nothing. */
export function recordDatabaseFailure(error: unknown): void {
  const failure = failures.getStore();
  if (failure !== undefined && error instanceof Error && isUnavailable(error)) failure.last = error;
}

/** The result of the work, whose failure is recorded. */
export async function withRecordedFailure<T>(work: Promise<T>): Promise<T> {
  try {
    return await work;
  } catch (error) {
    recordDatabaseFailure(error);
    throw error;
  }
}

/** Rethrows the error of the database that made a request fail, so that it is answered as on every other path. */
export async function rethrowDatabaseFailure(
  request: Request,
  handle: (request: Request) => Promise<Response>,
): Promise<Response> {
  const failure: { last: Error | null } = { last: null };
  const response = await failures.run(failure, () => handle(request));
  // The library also reports success if it could not delete the session.
  const isSignOut = new URL(request.url).pathname.endsWith('/sign-out');
  if ((response.status >= 400 || isSignOut) && failure.last !== null) throw failure.last;
  return response;
}
