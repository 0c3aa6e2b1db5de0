import { plainPng } from '@millrace/services';
import { startHttpDouble, type DoubleResponse, type HttpDouble } from './http-double.ts';

/** Doubles of three servers with OpenAI's images protocol. An image is one colour derived from its seed. */
export interface OpenAiImagesDouble extends HttpDouble {
  /** Bodies of the successful requests, in order. */
  readonly drawn: readonly Readonly<Record<string, unknown>>[];
}

export type ImagesServer = 'openai' | 'vllm' | 'sglang';

interface Body {
  readonly prompt?: string;
  readonly model?: string;
  readonly n?: number;
  readonly size?: string;
  readonly response_format?: string;
  readonly num_inference_steps?: number;
  readonly guidance_scale?: number;
  readonly seed?: number;
}

/** The refusal, or null. */
type Check = (body: Body) => DoubleResponse | null;

const plainFields = new Set(['prompt', 'model', 'n', 'size', 'response_format', 'quality', 'style', 'user']);

const openAiError = (message: string): DoubleResponse => ({
  status: 400,
  body: { error: { message, type: 'invalid_request_error', param: null, code: 'unknown_parameter' } },
});

const pydanticError = (field: string, msg: string): DoubleResponse => ({
  status: 422,
  body: { detail: [{ type: 'value_error', loc: ['body', field], msg, input: 'what was sent' }] },
});

const checks: Readonly<Record<ImagesServer, Check>> = {
  /** Refuses unknown fields; only older models accept a format. */
  openai: (body) => {
    const unknown = Object.keys(body).find((name) => !plainFields.has(name));
    if (unknown !== undefined) return openAiError(`Unknown parameter: '${unknown}'.`);
    const isOld = body.model?.startsWith('dall-e') === true;
    return body.response_format !== undefined && !isOld
      ? openAiError("Unknown parameter: 'response_format'.")
      : null;
  },
  vllm: (body) => {
    if (!['b64_json', 'file', undefined].includes(body.response_format)) {
      return pydanticError('response_format', "Only 'b64_json' or 'file' response format is supported");
    }
    if ((body.num_inference_steps ?? 1) > 200) {
      return pydanticError('num_inference_steps', 'Input should be less than or equal to 200');
    }
    if ((body.guidance_scale ?? 0) > 20) {
      return pydanticError('guidance_scale', 'Input should be less than or equal to 20');
    }
    return null;
  },
  sglang: () => null,
};

/** SGLang's default seed. */
const seedOfSglang = 1024;

export async function startOpenAiImagesDouble(server: ImagesServer): Promise<OpenAiImagesDouble> {
  const drawn: Readonly<Record<string, unknown>>[] = [];
  const double = await startHttpDouble(({ method, path, body }) => {
    if (`${method} ${path}` !== 'POST /v1/images/generations')
      return { status: 404, body: { detail: 'Not Found' } };
    const request = body as Body;
    const refused = checks[server](request);
    if (refused !== null) return refused;
    drawn.push(body as Readonly<Record<string, unknown>>);
    return { status: 200, body: imageResponse(server, request) };
  });
  return { ...double, drawn };
}

function imageResponse(server: ImagesServer, request: Body): unknown {
  const [width = 0, height = 0] = (request.size ?? '1024x1024').split('x').map(Number);
  const seed = request.seed ?? (server === 'sglang' ? seedOfSglang : 7);
  const pictures = Array.from({ length: request.n ?? 1 }, (_, index) =>
    plainPng(width, height, [(seed + index) % 256, 10, 20]).toString('base64'),
  );
  const named =
    request.response_format ?? (server === 'sglang' || request.model === 'dall-e-3' ? 'url' : 'b64_json');
  const data = pictures.map((b64_json, index) =>
    named === 'url'
      ? { url: `/v1/images/${index}/content`, revised_prompt: request.prompt, file_path: '/outputs/x.png' }
      : { b64_json, revised_prompt: server === 'sglang' ? request.prompt : null },
  );
  return { id: 'double', created: 1, data };
}
