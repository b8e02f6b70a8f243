/** Carries messages between the page of a viewer, which runs in a frame of its own, and Python. */
const SCENE_NUMBER = 2; // where a state says to which scene it belongs, see docs/scene_format.md

const copy = (view) => new Uint8Array(view.buffer, view.byteOffset, view.byteLength).slice().buffer;

function render({ model, el }) {
  const frame = document.createElement("iframe");
  frame.setAttribute("sandbox", "allow-scripts");
  frame.style.cssText = `width:100%;height:${model.get("height")}px;border:0`;
  frame.srcdoc = model.get("page");
  let isReady = false; // the page listens
  let isDrawing = false; // the page has not acknowledged its last state
  let isNew = false; // there is a state that the page was not sent
  let scenes = 0;
  const post = (data) => frame.contentWindow?.postMessage(data, "*"); // a frame without an origin has no other name

  const feed = () => {
    const state = model.get("state");
    if (!isReady || isDrawing || !isNew || !scenes || !state.byteLength) return;
    const message = copy(state);
    new DataView(message).setUint16(SCENE_NUMBER, (scenes - 1) % 65536, true);
    isNew = false;
    isDrawing = true;
    post(message);
  };
  const scene = () => {
    if (!isReady || !model.get("scene").byteLength) return;
    post(copy(model.get("scene")));
    scenes += 1;
    feed();
  };
  const changed = () => {
    isNew = true;
    feed();
  };
  const words = (message) => isReady && post(message.words);
  const heard = ({ source, data }) => {
    if (source !== frame.contentWindow) return;
    if (data instanceof ArrayBuffer) {
      isDrawing = false;
      feed();
    } else if (data === "ready") {
      isReady = isNew = true; // also when the notebook has taken the frame out and put it back
      isDrawing = false;
      scenes = 0;
      scene();
      if (model.get("greeting")) post(model.get("greeting"));
    } else if (typeof data === "string") model.send({ command: data });
  };

  window.addEventListener("message", heard);
  model.on("change:scene", scene);
  model.on("change:state", changed);
  model.on("msg:custom", words);
  el.append(frame);
  return () => {
    window.removeEventListener("message", heard);
    model.off("change:scene", scene);
    model.off("change:state", changed);
    model.off("msg:custom", words);
  };
}

export default { render };
