import type { DeploymentEntry, EngineKind, ModelEntry } from '@millrace/core/inference';
import { characterCost, imageCost, type FrozenModelPrice } from '@millrace/core/prices';
import { Fault } from '@millrace/platform/fault';
import type { NanoUsd } from '@millrace/platform/money';
import type { MediaAdapter } from '../../adapters/media/media-adapter.ts';
import type { ParsedBody } from '../../wire/body-reader.ts';

/** What the operations that make pictures and speech have in common, so that one path serves all four. */

/** What is sold. Pictures by width x height x steps, summed; speech by the character of its text. */
export interface MediaUnits {
  readonly imagePixelSteps: number;
  readonly characters: number;
}

/** What the answer must say that no engine knows. */
export interface MediaResponseContext {
  readonly createdSeconds: number;
  /** From the request's arrival to the engine's answer. */
  readonly elapsedMs: number;
}

export interface RenderedMedia {
  readonly contentType: string;
  readonly body: string | Buffer;
}

/** One operation. `Wish` is what both shapes of it are read into, `Answer` what every engine's answer is. */
export interface MediaOperation<Spec, Output> {
  readonly id: 'generateImage' | 'createImages' | 'generateAudio' | 'createSpeech';
  readonly modality: 'image' | 'audio';
  /** Throws `VALIDATION_FAILED`, with everything that is wrong. */
  read(body: unknown): ParsedBody<Spec>;
  /** Null: the client leaves it to us, see `defaultModel`. */
  modelOf(request: Spec): string | null;
  worstCase(request: Spec): MediaUnits;
  /** What was made. Never above the worst case. */
  made(request: Spec, response: Output): MediaUnits;
  adapterOf(engine: EngineKind): MediaAdapter<Spec, Output> | null;
  /** The names that the client wrote for what an adapter says it lacks. */
  nameOf(field: string): string;
  render(request: Spec, response: Output, facts: MediaResponseContext): RenderedMedia;
}

/** Rounded up once, over everything that a request has made. */
export function mediaCost(price: FrozenModelPrice, units: MediaUnits): NanoUsd {
  const pictures = imageCost(price, { width: units.imagePixelSteps, height: 1, steps: 1, count: 1 });
  return (pictures + characterCost(price, units.characters)) as NanoUsd;
}

/** The deployments that can do all that is asked for. None: a refusal that names what the nearest of them lacks. */
export function capableDeployments<Spec, Output>(
  operation: MediaOperation<Spec, Output>,
  request: Spec,
  deployments: readonly DeploymentEntry[],
): readonly DeploymentEntry[] {
  let nearest: readonly string[] | null = null;
  const able = deployments.filter((deployment) => {
    const missing = operation.adapterOf(deployment.engine)?.unsupportedFields(request, deployment);
    if (missing === undefined) return false;
    if (nearest === null || missing.length < nearest.length) nearest = missing;
    return missing.length === 0;
  });
  if (able.length === 0 && nearest !== null) throw unsupportedFieldsFault(operation, nearest);
  return able;
}

/** Whether one of the deployments can do all that is asked for. */
export function canServe<Spec, Output>(
  operation: Pick<MediaOperation<Spec, Output>, 'adapterOf'>,
  request: Spec,
  deployments: readonly DeploymentEntry[],
): boolean {
  return deployments.some(
    (deployment) =>
      operation.adapterOf(deployment.engine)?.unsupportedFields(request, deployment).length === 0,
  );
}

function unsupportedFieldsFault(
  operation: Pick<MediaOperation<never, never>, 'nameOf'>,
  fields: readonly string[],
): Fault {
  return new Fault('PARAMETER_NOT_SUPPORTED', {
    issues: fields.map((field) => ({
      path: [operation.nameOf(field)],
      message: 'is not supported by this model with this value',
      code: 'not_supported',
    })),
  });
}

/** The first by name of those that can be called: the same for every request until the catalog changes. */
export function defaultModel(models: readonly ModelEntry[], modality: 'image' | 'audio'): ModelEntry | null {
  const fitting = models.filter((model) => model.modality === modality && model.deployments.length > 0);
  return fitting.toSorted((a, b) => (a.name < b.name ? -1 : 1))[0] ?? null;
}
