import type { ReactNode } from 'react';
import { Square } from 'lucide-react';
import { Button } from '../../ui/button.tsx';

/** What is to be made, what that costs, and the button: the same for a picture and for speech. */
export function GenerationForm({
  field,
  cost,
  button,
  icon,
  off,
  doing,
  isMaking,
  onMake,
  onStop,
}: {
  readonly field: ReactNode;
  readonly cost: ReactNode;
  readonly button: string;
  readonly icon: ReactNode;
  /** Why it cannot be made yet. */
  readonly off: string | false;
  readonly doing: string;
  readonly isMaking: boolean;
  readonly onMake: () => void;
  readonly onStop: () => void;
}) {
  return (
    <form
      className="mb-4"
      onSubmit={(event) => {
        event.preventDefault();
        if (off === false && !isMaking) onMake();
      }}
    >
      {field}
      <div className="mt-2 flex flex-wrap items-center justify-end gap-3">
        {cost}
        {isMaking && (
          <Button icon={<Square aria-hidden className="size-3.5" />} onClick={onStop}>
            Stop
          </Button>
        )}
        <Button kind="primary" type="submit" icon={icon} off={off} busy={isMaking && doing}>
          {button}
        </Button>
      </div>
    </form>
  );
}
