import { Fault } from '@millrace/platform/fault';
import { msToSeconds } from '@millrace/platform/money';
import { counter, preparedHistogram, type Recorder } from '@millrace/platform/telemetry';
import type { ServerResponse } from 'node:http';

const durations = preparedHistogram('millrace_gateway_request_duration_seconds');
const errors = counter('millrace_gateway_errors_total');

/** nginx's status for requests whose client left before the end of the response. */
const CLIENT_LEFT = 499;

/** Records the requests of one route. */
export class RouteMetrics {
  readonly #route: string;
  readonly #ofStatus = new Map<number, Recorder>();

  constructor(route: string) {
    this.#route = route;
  }

  /** Call when the response was closed. */
  ended(response: ServerResponse, tookMs: number): void {
    const status = response.writableFinished ? response.statusCode : CLIENT_LEFT;
    let recorder = this.#ofStatus.get(status);
    if (recorder === undefined) {
      recorder = durations.with({ route: this.#route, status });
      this.#ofStatus.set(status, recorder);
    }
    recorder.record(msToSeconds(tookMs));
    const reason = reasons.get(response);
    if (reason !== undefined) errors.add(1, { route: this.#route, reason });
  }
}

/** Only failed responses are in the map. */
const reasons = new WeakMap<ServerResponse, string>();

/** Notes why a response is an error, also for streams whose status was already sent. */
export function noteError(response: ServerResponse, error: unknown): void {
  reasons.set(response, error instanceof Fault ? error.reason : 'INTERNAL');
}
