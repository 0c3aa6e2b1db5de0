import { ImagePlus } from 'lucide-react';
import { useState } from 'react';
import { useSession } from '../../api/session.tsx';
import { SelectField, TextArea, TextField } from '../../ui/field.tsx';
import { Money } from '../../ui/money.tsx';
import { Card } from '../../ui/page.tsx';
import { EmptyState } from '../../ui/states.tsx';
import { OutputFiles } from './output-files.tsx';
import {
  decodeBase64,
  imagePrice,
  imageSizes,
  detectImageType,
  parseImageFields,
  stepsDefault,
  type ImageErrors,
  type ImageFields,
  type ImageRequest,
} from './media.ts';
import { GenerationForm } from './generation-form.tsx';
import { ModelPrice } from './model-price.tsx';
import { TwoColumns, ViewCode, type PanelProps } from './panel-layout.tsx';
import { useModelPrice } from './use-gateway.ts';
import { useGeneration } from './use-generation.ts';

const unset: ImageFields = { size: '1024x1024', steps: String(stepsDefault), count: '1', seed: '' };

export function ImagePanel({ gateway, model, select }: PanelProps) {
  const { state, make, stop } = useGeneration(gateway);
  const [fields, setFields] = useState(unset);
  const [prompt, setPrompt] = useState('');
  const read = parseImageFields(fields);
  const errors = read.ok ? {} : read.errors;
  const isMaking = state.kind === 'making';
  const off =
    (!read.ok && 'One of the settings is not right.') ||
    (prompt.trim() === '' && 'Say first what is to be seen.');
  const send = (): void => {
    if (!read.ok) return;
    const { request, seed } = read;
    void make(prompt, async (models, signal) => {
      const { data, requestId } = await models.images
        .create(
          {
            model: model.id,
            prompt: prompt.trim(),
            size: fields.size,
            n: request.count,
            num_inference_steps: request.steps,
            ...(seed !== null && { seed }),
          },
          { signal },
        )
        .withResponse();
      const blobs = data.data.map(({ b64_json }, index) => {
        const bytes = decodeBase64(b64_json);
        const { type, ending } = detectImageType(bytes);
        return { blob: new Blob([bytes], { type }), name: `image-${String(index + 1)}.${ending}` };
      });
      return { blobs, requestId };
    });
  };
  const { steps, count } = read.ok ? read.request : { steps: stepsDefault, count: 1 };
  return (
    <TwoColumns
      side={
        <>
          {select}
          <ModelPrice model={model} />
          <Settings fields={fields} onChange={setFields} errors={errors} />
          <ViewCode
            request={{
              kind: 'image',
              model: model.id,
              prompt: prompt.trim() || 'a water mill at dusk',
              size: fields.size,
              n: count,
              steps,
              ...(read.ok && read.seed !== null && { seed: read.seed }),
            }}
          />
        </>
      }
      main={
        <Card title="Picture">
          <GenerationForm
            field={
              <TextArea
                label="What is to be seen"
                rows={3}
                maxLength={20_000}
                value={prompt}
                onChange={(event) => setPrompt(event.target.value)}
              />
            }
            cost={<Cost model={model.id} request={read.ok ? read.request : null} />}
            button="Make the picture"
            icon={<ImagePlus aria-hidden className="size-4" />}
            off={off}
            doing="Making it…"
            isMaking={isMaking}
            onMake={send}
            onStop={stop}
          />
          <OutputFiles
            state={state}
            what="picture"
            empty={
              <EmptyState title="No picture yet.">
                Say what is to be seen. What it costs stands beside the button.
              </EmptyState>
            }
            show={({ url }, about) => (
              <img src={url} alt={about} className="border-line max-h-[70vh] max-w-full rounded-md border" />
            )}
          />
        </Card>
      }
    />
  );
}

function Settings({
  fields,
  onChange,
  errors,
}: {
  readonly fields: ImageFields;
  readonly onChange: (fields: ImageFields) => void;
  readonly errors: ImageErrors;
}) {
  const set = (field: keyof ImageFields) => (event: { readonly target: { readonly value: string } }) =>
    onChange({ ...fields, [field]: event.target.value });
  return (
    <>
      <SelectField
        label="Size"
        value={fields.size}
        onChange={set('size')}
        error={errors.size}
        choices={imageSizes.map((size) => ({ value: size, label: size.replace('x', ' x ') }))}
      />
      <TextField
        label="Steps"
        hint="How often it is refined."
        inputMode="numeric"
        value={fields.steps}
        onChange={set('steps')}
        error={errors.steps}
      />
      <TextField
        label="How many"
        inputMode="numeric"
        value={fields.count}
        onChange={set('count')}
        error={errors.count}
      />
      <TextField
        label="Seed"
        hint="The same seed gives the same picture. Empty: another each time."
        inputMode="numeric"
        value={fields.seed}
        onChange={set('seed')}
        error={errors.seed}
      />
    </>
  );
}

/** What the picture will cost, before it is asked for. */
function Cost({ model, request }: { readonly model: string; readonly request: ImageRequest | null }) {
  const { mode } = useSession().place;
  const { data: price } = useModelPrice(model);
  if (mode === 'test') return <span className="text-soft">Free in test mode</span>;
  const each = price?.image_nano_usd ?? null;
  if (each === null || request === null) return null;
  return (
    <span>
      Costs <Money nano={imagePrice(BigInt(each), request)} />
    </span>
  );
}
