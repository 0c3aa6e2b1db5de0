import { AudioLines } from 'lucide-react';
import { useState } from 'react';
import { useSession } from '../../api/session.tsx';
import { TextArea, TextField } from '../../ui/field.tsx';
import { Money } from '../../ui/money.tsx';
import { Card } from '../../ui/page.tsx';
import { EmptyState } from '../../ui/states.tsx';
import { parseNumber } from './chat.ts';
import { OutputFiles } from './output-files.tsx';
import { countCharacters, speechMax, speechPrice } from './media.ts';
import { GenerationForm } from './generation-form.tsx';
import { ModelPrice } from './model-price.tsx';
import { TwoColumns, ViewCode, type PanelProps } from './panel-layout.tsx';
import { useModelPrice } from './use-gateway.ts';
import { useGeneration } from './use-generation.ts';

export function SpeechPanel({ gateway, model, select }: PanelProps) {
  const { state, make, stop } = useGeneration(gateway);
  const [text, setText] = useState('');
  const [voice, setVoice] = useState('alloy');
  const [speed, setSpeed] = useState('');
  const input = text.trim();
  const fast = parseNumber(speed);
  const isWrong = fast !== null && !(fast >= 0.25 && fast <= 4);
  const isMaking = state.kind === 'making';
  const tooLong = input.length > speechMax && `At most ${String(speechMax)} signs at a time.`;
  const off =
    (input === '' && 'Type first what is to be said.') ||
    tooLong ||
    (voice.trim() === '' && 'Name a voice first.') ||
    (isWrong && 'The speed is not right.');
  const request = {
    model: model.id,
    input: input || 'The wheel turns.',
    voice: voice.trim(),
    ...(fast !== null && !isWrong && { speed: fast }),
  };
  const send = (): void => {
    void make(input, async (models, signal) => {
      const { data, requestId } = await models.audio.createSpeech(request, { signal }).withResponse();
      const blob = new Blob([new Uint8Array(data)], { type: 'audio/mpeg' });
      return { blobs: [{ blob, name: 'speech.mp3' }], requestId };
    });
  };
  return (
    <TwoColumns
      side={
        <>
          {select}
          <ModelPrice model={model} />
          <TextField
            label="Voice"
            hint="By the name that the model has for it."
            maxLength={100}
            value={voice}
            onChange={(event) => setVoice(event.target.value)}
          />
          <TextField
            label="Speed"
            hint="0.25 to 4. Empty: as people speak."
            inputMode="decimal"
            value={speed}
            onChange={(event) => setSpeed(event.target.value)}
            error={isWrong ? 'A number from 0.25 to 4.' : undefined}
          />
          <ViewCode request={{ kind: 'speech', ...request }} />
        </>
      }
      main={
        <Card title="Speech">
          <GenerationForm
            field={
              <TextArea
                label="What is to be said"
                hint={`${String(countCharacters(input))} of at most ${String(speechMax)} characters`}
                rows={5}
                value={text}
                onChange={(event) => setText(event.target.value)}
                error={tooLong === false ? undefined : tooLong}
              />
            }
            cost={<Cost model={model.id} text={input} />}
            button="Speak it"
            icon={<AudioLines aria-hidden className="size-4" />}
            off={off}
            doing="Speaking…"
            isMaking={isMaking}
            onMake={send}
            onStop={stop}
          />
          <OutputFiles
            state={state}
            what="speech"
            empty={
              <EmptyState title="No speech yet.">
                Type what is to be said. What it costs stands beside the button.
              </EmptyState>
            }
            show={({ url }, about) => (
              // What it says stands in the field above it.
              // oxlint-disable-next-line jsx-a11y/media-has-caption
              <audio
                controls
                src={url}
                aria-label={`Speech: ${about.slice(0, 60)}`}
                className="w-80 max-w-full"
              />
            )}
          />
        </Card>
      }
    />
  );
}

function Cost({ model, text }: { readonly model: string; readonly text: string }) {
  const { mode } = useSession().place;
  const { data: price } = useModelPrice(model);
  if (mode === 'test') return <span className="text-soft">Free in test mode</span>;
  const each = price?.character_nano_usd ?? null;
  if (each === null) return null;
  return (
    <span>
      Costs <Money nano={speechPrice(BigInt(each), text)} />
    </span>
  );
}
