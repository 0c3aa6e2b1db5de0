import type { DeploymentEntry } from '@millrace/core/inference';
import type { Clock } from '@millrace/platform/clock';
import { comfyGraph, IMAGE_NODE } from './image-comfyui-graph.ts';
import { toImageResult, findUnsupportedFields, type ImageAdapter } from './image-adapter.ts';
import type { EngineFailure } from '../text/text-adapter.ts';
import { invalidMediaResponse, MediaEngineError } from './media-adapter.ts';
import type { MediaRequest, MediaResponse, SendUpstream } from './media-adapter.ts';
import {
  bearerHeaders,
  isRecord,
  requireJson,
  parseJsonBody,
  requireSuccess,
  jsonHeaders,
} from './media-responses.ts';

/** ComfyUI: queues a graph, polls its history and fetches the images. Then deletes the history, which contains the prompt. */

const supportedFields = new Set(['negative_prompt', 'steps', 'cfg_scale', 'seed', 'sampler', 'lora']);

const firstWaitMs = 50;
const maxWaitMs = 1_000;
/** Short, because clean-up runs after the response or after the client left. */
const cleanUpTimeoutMs = 2_000;

interface ComfyImageRef {
  readonly filename: string;
  readonly subfolder: string;
  readonly type: string;
}

export function createComfyUiAdapter(clock: Clock): ImageAdapter {
  /** Runs after the client has left, so it has its own deadline. Failures are ignored. */
  async function cleanUp(call: SendUpstream, requests: readonly MediaRequest[]): Promise<void> {
    const late = new AbortController();
    const stop = clock.after(cleanUpTimeoutMs, () => late.abort());
    try {
      await Promise.allSettled(requests.map(async (request) => call(request, late.signal)));
    } finally {
      stop();
    }
  }

  async function waitFor(
    id: string,
    send: (request: MediaRequest) => ReturnType<SendUpstream>,
    requests: Requests,
    signal: AbortSignal,
  ): Promise<readonly ComfyImageRef[]> {
    for (let waitMs = firstWaitMs; ; waitMs = Math.min(waitMs * 1.5, maxWaitMs)) {
      await clock.sleep(waitMs, signal);
      const entry = requireJson(await send(requests.history(id)))[id];
      if (isRecord(entry) && isOver(entry)) return imageRefsIn(entry);
    }
  }

  return {
    unsupportedFields: (request, deployment) => findUnsupportedFields(request, deployment, supportedFields),
    async run(imageRequest, { deployment }, call, signal) {
      const requests = requestsTo(deployment);
      const send = (request: MediaRequest): ReturnType<SendUpstream> => call(request, signal);
      const queued = await send(requests.queue(comfyGraph(imageRequest, deployment.upstreamModel)));
      if (queued.status === 400) throw new MediaEngineError(graphFailure(queued));
      const { prompt_id: id } = requireJson(queued);
      if (typeof id !== 'string')
        throw invalidMediaResponse('The engine returned no id for the queued graph.');
      try {
        const pictures = await waitFor(id, send, requests, signal);
        const bodies = await Promise.all(
          pictures
            .slice(0, imageRequest.count)
            .map(async (picture) => requireSuccess(await send(requests.view(picture)))),
        );
        // One seed applies to all images of a batch.
        return toImageResult(
          imageRequest,
          bodies.map(({ body }) => body.toString('base64')),
          () => imageRequest.seed,
        );
      } catch (error) {
        if (signal.aborted) await cleanUp(call, [requests.unqueue(id), requests.cancel(id)]);
        throw error;
      } finally {
        void cleanUp(call, [requests.forget(id)]);
      }
    },
  };
}

type Requests = ReturnType<typeof requestsTo>;

function requestsTo({ apiKey }: DeploymentEntry) {
  const headers = { ...jsonHeaders, ...bearerHeaders(apiKey) };
  const get = (path: string): MediaRequest => ({
    method: 'GET',
    path,
    headers: bearerHeaders(apiKey),
    body: null,
  });
  const post = (path: string, body: unknown): MediaRequest => ({
    method: 'POST',
    path,
    headers,
    body: JSON.stringify(body),
  });
  const named = (id: string): string => encodeURIComponent(id);
  return {
    queue: (graph: unknown) => post('/prompt', { prompt: graph }),
    history: (id: string) => get(`/history/${named(id)}`),
    view: ({ filename, subfolder, type }: ComfyImageRef) =>
      get(`/view?${new URLSearchParams({ filename, subfolder, type }).toString()}`),
    forget: (id: string) => post('/history', { delete: [id] }),
    unqueue: (id: string) => post('/queue', { delete: [id] }),
    // Cancels only this job; older servers do not have it. Their `/interrupt` would stop any running image, perhaps of another
    // tenant, so such an image is completed and discarded.
    cancel: (id: string) => post(`/api/jobs/${named(id)}/cancel`, {}),
  };
}

/** Nodes with values from the client. Errors in other nodes, such as a missing checkpoint, are the operator's. */
const fromClient = /^(sampler|lora-\d+)$/;

/** Uses only message and input name: the details list all valid values, among them files of the engine's host. */
function graphFailure({ status, body }: MediaResponse): EngineFailure {
  const value = parseJsonBody(body);
  const nodes = isRecord(value) && isRecord(value['node_errors']) ? Object.entries(value['node_errors']) : [];
  const problems = nodes.flatMap(([node, found]) => (fromClient.test(node) ? problemsIn(found) : []));
  if (problems.length === 0 || !nodes.every(([node]) => fromClient.test(node))) {
    return { status, reason: 'UPSTREAM_ERROR', message: 'The engine cannot run the graph.', retryable: true };
  }
  return { status, reason: 'VALIDATION_FAILED', message: `${problems.join('; ')}.`, retryable: false };
}

function problemsIn(found: unknown): readonly string[] {
  const errors: unknown = isRecord(found) ? found['errors'] : undefined;
  if (!Array.isArray(errors)) return [];
  return errors.filter(isRecord).map(({ message, extra_info: extra }) => {
    const name = isRecord(extra) && typeof extra['input_name'] === 'string' ? extra['input_name'] : 'a value';
    return `${name}: ${typeof message === 'string' ? message : 'not accepted'}`;
  });
}

/** The entry appears only when the graph has ended. A failed graph has a status of its own. */
function isOver({ status, outputs }: Readonly<Record<string, unknown>>): boolean {
  if (isRecord(status) && status['status_str'] === 'error') {
    throw new MediaEngineError({
      status: null,
      reason: 'UPSTREAM_ERROR',
      message: 'The engine failed during generation.',
      retryable: true,
    });
  }
  return isRecord(status) ? status['completed'] === true : isRecord(outputs);
}

function imageRefsIn({ outputs }: Readonly<Record<string, unknown>>): readonly ComfyImageRef[] {
  const output = isRecord(outputs) ? outputs[IMAGE_NODE] : undefined;
  const images: unknown = isRecord(output) ? output['images'] : undefined;
  if (!Array.isArray(images)) throw invalidMediaResponse('The engine finished the graph without an image.');
  return images.map((item: unknown) => {
    const { filename, subfolder, type } = isRecord(item) ? item : {};
    if (typeof filename !== 'string')
      throw invalidMediaResponse('The engine returned an image without a file name.');
    return {
      filename,
      subfolder: typeof subfolder === 'string' ? subfolder : '',
      type: typeof type === 'string' ? type : 'output',
    };
  });
}
