import { plainPng } from '@millrace/services';
import { startHttpDouble, type DoubleResponse, type DoubleRequest, type HttpDouble } from './http-double.ts';

/** A double of AUTOMATIC1111's image calls, by its source code. An image is one colour derived from its seed. */
export interface Automatic1111Double extends HttpDouble {
  /** Bodies of the successful image calls, in order. */
  readonly drawn: readonly Readonly<Record<string, unknown>>[];
  /** How often a client requested an interruption. */
  interrupts(): number;
}

export interface Automatic1111Options {
  /** `name:password` of the option `--api-auth`. */
  readonly auth?: string;
  readonly checkpoints?: readonly string[];
}

const samplers = ['Euler', 'Euler a', 'DPM++ 2M'];

interface DrawRequest {
  readonly seed: number;
  readonly n_iter: number;
  readonly batch_size: number;
  readonly width: number;
  readonly height: number;
  readonly steps: number;
  readonly sampler_name?: string;
  readonly init_images?: readonly string[];
  readonly alwayson_scripts?: { readonly controlnet?: unknown };
  readonly override_settings?: { readonly sd_model_checkpoint?: string };
}

export async function startAutomatic1111Double(
  options: Automatic1111Options = {},
): Promise<Automatic1111Double> {
  const { auth, checkpoints = ['toy.safetensors'] } = options;
  const drawn: Readonly<Record<string, unknown>>[] = [];
  let interrupts = 0;

  function draw(request: DoubleRequest): DoubleResponse {
    const spec = request.body as DrawRequest;
    if (typeof spec?.width !== 'number') {
      return {
        status: 422,
        body: {
          detail: [{ loc: ['body', 'width'], msg: 'value is not a valid integer', type: 'type_error' }],
        },
      };
    }
    if (spec.sampler_name !== undefined && !samplers.includes(spec.sampler_name)) {
      return { status: 404, body: { detail: 'Sampler not found' } };
    }
    if (request.path.endsWith('img2img') && spec.init_images === undefined) {
      return { status: 404, body: { detail: 'Init image not found' } };
    }
    const checkpoint = spec.override_settings?.sd_model_checkpoint;
    if (checkpoint !== undefined && !checkpoints.includes(checkpoint)) {
      const errors = `Unknown checkpoint: ${checkpoint}`;
      const body = { error: 'RuntimeError', detail: '', body: '', errors };
      return { status: 500, body };
    }
    drawn.push({ ...spec, path: request.path });
    return { status: 200, body: drawImages(spec) };
  }

  const double = await startHttpDouble((request) => {
    const expected = auth === undefined ? undefined : `Basic ${Buffer.from(auth).toString('base64')}`;
    if (expected !== undefined && request.headers.authorization !== expected) {
      return { status: 401, body: { detail: 'Incorrect username or password' } };
    }
    switch (`${request.method} ${request.path}`) {
      case 'POST /sdapi/v1/txt2img':
      case 'POST /sdapi/v1/img2img':
        return draw(request);
      case 'POST /sdapi/v1/interrupt':
        interrupts += 1;
        return { status: 200, body: {} };
      default:
        return { status: 404, body: { detail: 'Not Found' } };
    }
  });
  return { ...double, drawn, interrupts: () => interrupts };
}

/** With several images a contact sheet comes first, and the map of a control net last. */
function drawImages(request: DrawRequest): unknown {
  const count = request.n_iter * request.batch_size;
  const seeds = Array.from({ length: count }, (_, index) => request.seed + index);
  const draw = (width: number, height: number, seed: number): string =>
    plainPng(width, height, [seed % 256, 64, 128]).toString('base64');
  const sheets = count > 1 ? [draw(request.width * 2, request.height, 0)] : [];
  const maps =
    request.alwayson_scripts?.controlnet === undefined ? [] : [draw(request.width, request.height, 255)];
  const images = [...sheets, ...seeds.map((seed) => draw(request.width, request.height, seed)), ...maps];
  const { seed, steps } = request;
  const info = { seed, all_seeds: seeds, index_of_first_image: sheets.length, steps };
  return { images, parameters: request, info: JSON.stringify(info) };
}
