import { plainPng } from '@millrace/services';
import { uniqueId } from '../names.ts';
import { startHttpDouble, type DoubleResponse, type DoubleRequest, type HttpDouble } from './http-double.ts';

/** A double of ComfyUI: validates graphs by its source code, and draws one colour derived from the seed. */
export interface ComfyDouble extends HttpDouble {
  /** The executed graphs, in order. */
  readonly drawn: readonly Graph[];
  /** Ids that are queued or in progress. */
  queue(): readonly string[];
  /** Ids in the history. */
  history(): readonly string[];
  /** Ids that a client cancelled. */
  readonly cancelled: readonly string[];
  /** How often a client requested an interruption. */
  interrupts(): number;
}

export interface ComfyOptions {
  /** `draw` executes graphs, `hold` leaves them in the queue, `fail` fails them. */
  readonly behaviour?: 'draw' | 'hold' | 'fail';
  /** The number of polls before a graph is finished. */
  readonly pollsUntilDone?: number;
  /** Whether single jobs can be cancelled, as in later versions. */
  readonly cancelsJobs?: boolean;
}

type Inputs = Readonly<Record<string, unknown>>;
type Graph = Readonly<Record<string, { readonly class_type: string; readonly inputs: Inputs }>>;

const choices: Readonly<Record<string, readonly string[]>> = {
  ckpt_name: ['toy.safetensors'],
  lora_name: ['mill.safetensors', 'water.safetensors'],
  sampler_name: ['euler', 'dpmpp_2m'],
  scheduler: ['normal', 'karras'],
};

const required: Readonly<Record<string, readonly string[]>> = {
  CheckpointLoaderSimple: ['ckpt_name'],
  LoraLoader: ['model', 'clip', 'lora_name', 'strength_model', 'strength_clip'],
  CLIPTextEncode: ['text', 'clip'],
  EmptyLatentImage: ['width', 'height', 'batch_size'],
  KSampler: [
    ...['model', 'positive', 'negative', 'latent_image', 'seed', 'steps'],
    ...['cfg', 'sampler_name', 'scheduler', 'denoise'],
  ],
  VAEDecode: ['samples', 'vae'],
  PreviewImage: ['images'],
};

export async function startComfyDouble(options: ComfyOptions = {}): Promise<ComfyDouble> {
  const { behaviour = 'draw', pollsUntilDone = 2, cancelsJobs = true } = options;
  const waiting = new Map<string, { readonly graph: Graph; polls: number }>();
  const history = new Map<string, unknown>();
  const files = new Map<string, Buffer>();
  const drawn: Graph[] = [];
  const cancelled: string[] = [];
  let interrupts = 0;

  function queue({ body }: DoubleRequest): DoubleResponse {
    const graph = (body as { prompt?: Graph } | undefined)?.prompt;
    if (graph === undefined) return { status: 400, body: { error: 'no prompt', node_errors: [] } };
    const wrong = problemsOf(graph);
    if (Object.keys(wrong).length > 0) {
      const error = { type: 'prompt_outputs_failed_validation', message: 'Prompt outputs failed validation' };
      return { status: 400, body: { error, node_errors: wrong } };
    }
    const id = uniqueId();
    waiting.set(id, { graph, polls: 0 });
    return { status: 200, body: { prompt_id: id, number: waiting.size, node_errors: {} } };
  }

  function pollJob(id: string): DoubleResponse {
    const job = waiting.get(id);
    if (job !== undefined && behaviour !== 'hold') {
      job.polls += 1;
      if (job.polls > pollsUntilDone) finish(id, job.graph);
    }
    const entry = history.get(id);
    return { status: 200, body: entry === undefined ? {} : { [id]: entry } };
  }

  function finish(id: string, graph: Graph): void {
    waiting.delete(id);
    if (behaviour === 'fail') {
      const messages = [['execution_error', { exception_message: 'out of memory' }]];
      history.set(id, { outputs: {}, status: { status_str: 'error', completed: false, messages } });
      return;
    }
    drawn.push(graph);
    const status = { status_str: 'success', completed: true, messages: [] };
    history.set(id, { prompt: graph, outputs: outputsOf(id, graph, files), status });
  }

  function view({ query }: DoubleRequest): DoubleResponse {
    const file = files.get(`${query.get('type')}/${query.get('subfolder')}/${query.get('filename')}`);
    return file === undefined ? { status: 404, body: {} } : { status: 200, body: file };
  }

  const double = await startHttpDouble((request) => {
    const [, historyId] = /^\/history\/(.+)$/.exec(request.path) ?? [];
    if (request.method === 'GET' && historyId !== undefined) return pollJob(historyId);
    const [, jobId] = /^\/api\/jobs\/(.+)\/cancel$/.exec(request.path) ?? [];
    if (jobId !== undefined && cancelsJobs) {
      cancelled.push(jobId);
      return { status: 200, body: { cancelled: waiting.delete(jobId) } };
    }
    switch (`${request.method} ${request.path}`) {
      case 'POST /prompt':
        return queue(request);
      case 'GET /view':
        return view(request);
      case 'POST /queue':
        return remove(waiting, request);
      case 'POST /history':
        return remove(history, request);
      case 'POST /interrupt':
        interrupts += 1;
        return { status: 200, body: {} };
      default:
        return { status: 404, body: {} };
    }
  });
  return {
    ...double,
    drawn,
    cancelled,
    queue: () => [...waiting.keys()],
    history: () => [...history.keys()],
    interrupts: () => interrupts,
  };
}

function remove(from: Map<string, unknown>, { body }: DoubleRequest): DoubleResponse {
  for (const id of (body as { delete?: readonly string[] }).delete ?? []) from.delete(id);
  return { status: 200, body: {} };
}

interface NodeErrors {
  readonly errors: readonly unknown[];
}

function problemsOf(graph: Graph): Record<string, NodeErrors> {
  const wrong: Record<string, NodeErrors> = {};
  for (const [id, { class_type: kind, inputs }] of Object.entries(graph)) {
    const known = required[kind];
    const errors =
      known === undefined
        ? [{ type: 'invalid_prompt', message: `Node ${kind} does not exist`, extra_info: {} }]
        : known.flatMap((name) => problemsWith(name, inputs[name], graph));
    if (errors.length > 0) wrong[id] = { errors };
  }
  return wrong;
}

function problemsWith(name: string, value: unknown, graph: Graph): readonly unknown[] {
  const extra_info = { input_name: name };
  if (value === undefined)
    return [{ type: 'required_input_missing', message: 'Required input is missing', extra_info }];
  if (Array.isArray(value) && graph[String(value[0])] === undefined) {
    return [{ type: 'bad_linked_input', message: 'Bad linked input', extra_info }];
  }
  const allowed = choices[name];
  if (allowed === undefined || (typeof value === 'string' && allowed.includes(value))) return [];
  const details = `${name}: ${JSON.stringify(value)} not in ${JSON.stringify(allowed)}`;
  return [{ type: 'value_not_in_list', message: 'Value not in list', details, extra_info }];
}

/** The outputs of all preview nodes by id, with their files. */
function outputsOf(id: string, graph: Graph, files: Map<string, Buffer>): Record<string, unknown> {
  const canvas =
    Object.values(graph).find(({ class_type: kind }) => kind === 'EmptyLatentImage')?.inputs ?? {};
  const sampler = Object.values(graph).find(({ class_type: kind }) => kind === 'KSampler')?.inputs ?? {};
  const { width, height, batch_size: count } = canvas as Record<'width' | 'height' | 'batch_size', number>;
  const images = Array.from({ length: count }, (_, index) => {
    const image = { filename: `double_${id}_${index}.png`, subfolder: '', type: 'temp' };
    const colour = [Number(sampler['seed']) % 256, index, 64] as const;
    files.set(`${image.type}/${image.subfolder}/${image.filename}`, plainPng(width, height, colour));
    return image;
  });
  const shown = Object.entries(graph).filter(([, { class_type: kind }]) => kind === 'PreviewImage');
  return Object.fromEntries(shown.map(([node]) => [node, { images }]));
}
