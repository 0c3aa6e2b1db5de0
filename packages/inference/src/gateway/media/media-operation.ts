import type { DeploymentEntry, EngineKind, ModelEntry } from '@millrace/core/inference';
import { characterCost, imageCost, type FrozenModelPrice } from '@millrace/core/prices';
import { Fault } from '@millrace/platform/fault';
import type { NanoUsd } from '@millrace/platform/money';
import type { MediaAdapter } from '../../adapters/media/media-adapter.ts';
import type { ParsedBody } from '../../wire/body-reader.ts';

/** The interface of the four image and speech operations, so that one code path serves them. */

/** Billed units: images by width x height x steps, speech by characters of text. */
export interface MediaUnits {
  readonly imagePixelSteps: number;
  readonly characters: number;
}

export interface MediaResponseContext {
  readonly createdSeconds: number;
  /** From the arrival of the request to the engine's response. */
  readonly elapsedMs: number;
}

export interface RenderedMedia {
  readonly contentType: string;
  readonly body: string | Buffer;
}

/** One operation. `Spec` is the parsed request of both API shapes, `Output` the validated engine response. */
export interface MediaOperation<Spec, Output> {
  readonly id: 'generateImage' | 'createImages' | 'generateAudio' | 'createSpeech';
  readonly modality: 'image' | 'audio';
  /** Throws `VALIDATION_FAILED` with all issues. */
  read(body: unknown): ParsedBody<Spec>;
  /** Null: the client names no model, see `defaultModel`. */
  modelOf(request: Spec): string | null;
  worstCase(request: Spec): MediaUnits;
  /** Units generated, never above the worst case. */
  made(request: Spec, response: Output): MediaUnits;
  adapterOf(engine: EngineKind): MediaAdapter<Spec, Output> | null;
  /** The client's name of a field that an adapter does not support. */
  nameOf(field: string): string;
  render(request: Spec, response: Output, facts: MediaResponseContext): RenderedMedia;
}

/** Rounded up once over all units of a request. */
export function mediaCost(price: FrozenModelPrice, units: MediaUnits): NanoUsd {
  const pictures = imageCost(price, { width: units.imagePixelSteps, height: 1, steps: 1, count: 1 });
  return (pictures + characterCost(price, units.characters)) as NanoUsd;
}

/** The deployments that support all requested fields. If none does, throws with the fields that the best one lacks. */
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

/** The first callable model by name, so that the default is stable until the catalog changes. */
export function defaultModel(models: readonly ModelEntry[], modality: 'image' | 'audio'): ModelEntry | null {
  const fitting = models.filter((model) => model.modality === modality && model.deployments.length > 0);
  return fitting.toSorted((a, b) => (a.name < b.name ? -1 : 1))[0] ?? null;
}
