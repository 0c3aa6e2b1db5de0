import type { ReactNode } from 'react';
import { Square } from 'lucide-react';
import { Button } from '../../ui/button.tsx';
import { Card } from '../../ui/page.tsx';
import { Form } from '../../ui/form.tsx';
import { OutputFiles } from './output-files.tsx';
import type { OutputFile, useGeneration } from './use-generation.ts';

interface GenerationCardProps {
  readonly title: string;
  readonly generation: ReturnType<typeof useGeneration>;
  readonly field: ReactNode;
  readonly cost: ReactNode;
  readonly button: string;
  readonly icon: ReactNode;
  readonly off: string | false;
  readonly doing: string;
  readonly onMake: () => void;
  /** Noun, such as `image`. */
  readonly what: string;
  readonly empty: string;
  readonly show: (file: OutputFile, about: string) => ReactNode;
}

/** Prompt, cost, button and output of an image or speech model. */
export function GenerationCard(props: GenerationCardProps) {
  const { title, field, cost, button, icon, off, doing, onMake, what, empty, show } = props;
  const { state, stop } = props.generation;
  const isMaking = state.kind === 'making';
  return (
    <Card title={title}>
      <Form
        className="mb-4"
        onSend={() => {
          if (off === false && !isMaking) onMake();
        }}
      >
        {field}
        <div className="mt-2 flex flex-wrap items-center justify-end gap-3">
          {cost}
          {isMaking && (
            <Button icon={<Square aria-hidden className="size-3.5" />} onClick={stop}>
              Stop
            </Button>
          )}
          <Button kind="primary" type="submit" icon={icon} off={off} busy={isMaking && doing}>
            {button}
          </Button>
        </div>
      </Form>
      <OutputFiles state={state} what={what} empty={empty} show={show} />
    </Card>
  );
}
